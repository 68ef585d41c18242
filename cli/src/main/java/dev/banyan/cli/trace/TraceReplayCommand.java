package dev.banyan.cli.trace;

import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.output.ReportCommand;
import dev.banyan.cli.output.RunContext;
import dev.banyan.dlc.internal.replay.DlcReplay;
import dev.banyan.dlc.internal.run.DlcRun;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.simulate.Simulator;
import dev.banyan.study.machine.ChosenMachine;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code banyan trace replay}: a traced run on another machine. */
@Command(
        name = "replay",
        description = "Simulate a traced run's iterations on a machine: the same messages with their dependencies.",
        footer = {
            "",
            "What workers did between messages takes as long as it took when traced; so does",
            "what servers did, where their traces are given, else it takes no time. How long",
            "messages take is predicted. Worker w is device w; server s has a device of its",
            "own behind those of the workers, or is device s where there are too few.",
            "A key's time is from its push until its value is there.",
            "",
            "Examples:",
            "  banyan trace replay worker-0.txt --machine p3.16xlarge",
            "  banyan trace replay worker-*.txt server-*.txt --machine pcie-8 --format json"
        })
final class TraceReplayCommand extends ReportCommand {
    @Mixin
    private final TraceFiles files = new TraceFiles();

    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Option(
            names = "--profile",
            paramLabel = "NAME",
            description = "Constants of the simulation: p100-nvlink, v100-nvlink, v100-nvswitch, a100-nvswitch,"
                + " h100-nvswitch, b200-nvswitch, gb200-nvl, mi250x-xgmi, mi300x-xgmi, mi355x-xgmi or pcie (default:"
                + " those that fit the machine).")
    private @Nullable Profile profile;

    @Override
    public void run() {
        DlcRun traced = files.read();
        ChosenMachine chosen = machine.choose(2);
        Profile constants = profile == null ? Profiles.of(chosen.machine()) : profile;
        Simulator simulator = new Simulator(chosen.allLinks(), List.of(), constants);
        ReplayReport report = ReplayReport.of(
                DlcReplay.run(traced, simulator, chosen.machine().size()));
        RunContext context = RunContext.of(chosen.machine(), Platform.simulated(Execution.CHUNKS), constants.name());
        print(context, report, () -> {
            remark(chosen.remark(), chosen.warnings());
            report.print(out(), chosen.machine().name() + ", profile " + constants.name());
        });
    }
}
