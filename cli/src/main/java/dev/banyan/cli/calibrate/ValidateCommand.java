package dev.banyan.cli.calibrate;

import dev.banyan.cli.output.OutputFile;
import dev.banyan.cli.output.OutputFormat;
import dev.banyan.cli.output.Subcommand;
import dev.banyan.cli.output.TextFile;
import dev.banyan.study.measured.ComparedSweep;
import java.util.List;
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
public final class ValidateCommand extends Subcommand {
    @Mixin
    private final SweepOptions sweeps = new SweepOptions();

    @Option(names = "--report", paramLabel = "FILE", description = "Write the whole report to a file, as Markdown.")
    private @Nullable OutputFile report;

    @Option(names = "--format", description = "table or json (default: table).")
    private OutputFormat format = OutputFormat.table;

    @Override
    public void run() {
        SweepOptions.Found found = sweeps.read();
        List<ComparedSweep> comparisons = found.sweeps();
        found.own()
                .ifPresent(
                        chosen -> remarkAside(chosen.remark(), chosen.machine().warnings()));
        if (report != null) {
            TextFile.write(report.path(), new SimulatorDocument(comparisons, found.leftOut()).markdown());
        }
        ValidationReport answer = ValidationReport.of(comparisons, found.leftOut());
        print(format == OutputFormat.json, found.context(), answer, () -> answer.print(out()));
    }
}
