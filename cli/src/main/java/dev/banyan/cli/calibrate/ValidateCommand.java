package dev.banyan.cli.calibrate;

import dev.banyan.cli.output.OutputFile;
import dev.banyan.cli.output.ReportCommand;
import dev.banyan.cli.output.TextFile;
import dev.banyan.page.document.SimulatorDocument;
import dev.banyan.study.measured.ComparedSweeps;
import dev.banyan.study.measured.ValidationReport;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code banyan validate}: the simulator against what nccl-tests measured. */
@Command(
        name = "validate",
        description = {
            "Compare simulated NCCL rings with what nccl-tests measured, row by row.",
            "Files of published sweeps are known by their names; of any other, say on what it was measured."
        },
        footer = {
            "",
            "Examples:",
            "  banyan validate --sweeps ../shared/figures/nccl_tests --report docs/simulator.md",
            "  banyan validate --sweeps all_reduce.txt --machine topo.txt --devices-per-process 8"
        })
public final class ValidateCommand extends ReportCommand {
    @Mixin
    private final SweepOptions sweeps = new SweepOptions();

    @Option(
            names = "--report",
            paramLabel = "FILE",
            description = "Write the report to a file, as Markdown, and its sweeps, rows, constants and programs as CSV"
                    + " beside it.")
    private @Nullable OutputFile report;

    @Override
    public void run() {
        SweepOptions.Found found = sweeps.read(Optional.empty());
        ComparedSweeps compared = found.compared();
        found.own()
                .ifPresent(
                        chosen -> remarkAside(chosen.remark(), chosen.machine().warnings()));
        if (report != null) {
            write(new SimulatorDocument(compared), report.path());
        }
        ValidationReport answer = ValidationReport.of(compared);
        print(found.context(), answer, () -> new ValidationTable(answer).print(out()));
    }

    private static void write(SimulatorDocument document, Path page) {
        String stem = String.valueOf(page.getFileName()).replaceFirst("\\.[^.]*$", "");
        String sweeps = stem + "-sweeps.csv";
        String rows = stem + "-rows.csv";
        String constants = stem + "-constants.csv";
        String programs = stem + "-programs.csv";
        TextFile.write(page.resolveSibling(programs), document.programs());
        TextFile.write(page.resolveSibling(sweeps), document.sweeps());
        TextFile.write(page.resolveSibling(rows), document.rows());
        TextFile.write(page.resolveSibling(constants), document.constants());
        TextFile.write(page, document.markdown(sweeps, rows, constants, programs));
    }
}
