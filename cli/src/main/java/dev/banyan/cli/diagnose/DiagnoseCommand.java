package dev.banyan.cli.diagnose;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.banyan.cli.calibrate.SweepOptions;
import dev.banyan.cli.output.Assumptions;
import dev.banyan.cli.output.ReportCommand;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.config.Config;
import dev.banyan.cuda.CudaBackendProvider;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.study.diagnosis.Advice;
import dev.banyan.study.diagnosis.LogDiagnosis;
import dev.banyan.study.diagnosis.SweepDiagnosis;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.measured.NcclLog;
import dev.banyan.study.measured.NcclLogReader;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code banyan diagnose}: what a user's own sweep of NCCL says, and what is worth trying. */
@Command(
        name = "diagnose",
        description = {
            "Compare what nccl-tests measured with the bound of the links, a model of NCCL and Banyan's prediction, in"
                    + " sentences, and name the settings of NCCL that are worth trying.",
            "Files of published sweeps are known by their names; of any other, say on what it was measured."
        },
        footer = {
            "",
            "Examples:",
            "  (nvidia-smi -L; nvidia-smi topo -m; nvidia-smi topo -p2p r; lscpu) > topo.txt",
            "  all_reduce_perf -b 8 -e 1G -f 2 -g 8 > sweep.txt",
            "  NCCL_DEBUG=INFO all_reduce_perf -b 8 -e 8 -g 8 > nccl.log",
            "  banyan diagnose --sweeps sweep.txt --machine topo.txt --log nccl.log"
        })
public final class DiagnoseCommand extends ReportCommand {
    @Mixin
    private final SweepOptions sweeps = new SweepOptions();

    @Option(
            names = "--log",
            paramLabel = "FILE",
            description =
                    "What NCCL printed in the same run with NCCL_DEBUG=INFO (default: such lines in the sweep itself).")
    private @Nullable Path log;

    /**
     * The report, in the order of its JSON.
     *
     * @param sweeps one for each sweep
     * @param log what the log says, or that in the first sweep that holds one; null without one
     * @param leftOut files that are no sweeps of one machine, each with the reason
     */
    record Report(
            @JsonProperty("rows") List<SweepDiagnosis> sweeps,
            @Nullable LogDiagnosis log,
            List<String> leftOut) {}

    @Override
    public void run() {
        SweepOptions.Found found = sweeps.read(Optional.ofNullable(log).map(NcclLogReader::read));
        Optional<NcclLog> read = found.compared().sweeps().stream()
                .flatMap(sweep -> sweep.log().stream())
                .findFirst();
        found.own()
                .ifPresent(
                        chosen -> remarkAside(chosen.remark(), chosen.machine().warnings()));
        Execution execution = CudaBackendProvider.execution(Config.defaults());
        Report report = new Report(
                SweepDiagnosis.of(found.compared().sweeps(), execution),
                read.map(one -> LogDiagnosis.of(
                                one, found.own().map(ChosenMachine::machine).orElse(null)))
                        .orElse(null),
                found.compared().leftOut());
        List<String> assumed = found.own().map(ChosenMachine::assumed).orElse(List.of());
        print(found.context(), report, () -> {
            Assumptions.line(assumed).ifPresent(line -> out().println("# " + line));
            print(report);
        });
    }

    private void print(Report report) {
        PrintWriter out = out();
        for (SweepDiagnosis sweep : report.sweeps()) {
            out.println("# " + TerminalText.of(sweep.file()) + ": " + TerminalText.of(sweep.title()));
            print(sweep.findings(), sweep.worthTrying());
            if (sweep.worthTrying().isEmpty()
                    && (report.log() == null || report.log().worthTrying().isEmpty())) {
                out.println("No setting of NCCL is likely to help.");
            }
            out.println();
        }
        if (report.log() != null) {
            out.println("# " + TerminalText.of(report.log().file()));
            print(report.log().findings(), report.log().worthTrying());
            out.println();
        }
        report.leftOut().forEach(one -> out.println("# left out: " + TerminalText.of(one)));
    }

    private void print(List<String> findings, List<Advice> worthTrying) {
        PrintWriter out = out();
        findings.forEach(sentence -> out.println(TerminalText.of(sentence) + "."));
        worthTrying.forEach(advice -> out.println("Worth trying: " + TerminalText.of(advice.toString()) + "."));
    }
}
