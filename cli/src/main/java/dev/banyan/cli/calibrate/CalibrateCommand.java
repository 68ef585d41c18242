package dev.banyan.cli.calibrate;

import dev.banyan.cli.input.ChosenMachine;
import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.output.Subcommand;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.cli.output.TextFile;
import dev.banyan.cli.output.TextTable;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.ProfileJson;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.measured.Calibration;
import dev.banyan.study.measured.P2pReader;
import dev.banyan.study.measured.P2pReport;
import java.io.PrintWriter;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code banyan calibrate}: a profile out of measured copies. */
@Command(
        name = "calibrate",
        description = {
            "Make a simulator profile out of what p2pBandwidthLatencyTest (of the CUDA samples) measured on a machine.",
            "What it can't tell is taken from another profile; every value names its source."
        },
        footer = {
            "",
            "Examples:",
            "  banyan calibrate --from p2p.txt --machine topo.txt --output profile.json",
            "  banyan calibrate --from p2p.txt --machine dgx-a100 --base a100-nvswitch --name ours"
        })
public final class CalibrateCommand extends Subcommand {
    @Option(
            names = "--from",
            required = true,
            paramLabel = "FILE",
            description = "What p2pBandwidthLatencyTest printed, or a part of it that holds whole matrices.")
    private Path from = Path.of(""); // replaced by picocli

    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Option(
            names = "--base",
            paramLabel = "NAME|FILE",
            description = "Profile for what is not measured (default: the built-in one that fits the machine).")
    private @Nullable Profile base;

    @Option(names = "--name", description = "Name of the new profile (default: the machine's, with -measured).")
    private @Nullable String name;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            description = "Write the profile as JSON to a file.")
    private @Nullable Path output;

    @Override
    public void run() {
        P2pReport report = P2pReader.read(from);
        ChosenMachine chosen = machine.choose(2);
        Profile rest = base == null ? Profiles.of(chosen.machine()) : base;
        String called = name == null ? chosen.machine().name() + "-measured" : name;
        Calibration calibration = Calibration.of(report, chosen.machine(), rest, called);
        remark(chosen.remark(), chosen.machine().warnings());
        PrintWriter out = out();
        out.println("# profile " + TerminalText.of(called) + ": "
                + calibration.measured().size() + " constants from " + TerminalText.of(report.source())
                + ", the others from " + TerminalText.of(rest.name()));
        out.println("#");
        TextTable table = new TextTable("constant", "value", "before", "measured");
        calibration
                .profile()
                .constants()
                .forEach((constant, value) -> table.row(
                        constant.key(),
                        Figures.constant(value.value()),
                        Figures.constant(rest.get(constant)),
                        calibration.measured().contains(constant) ? "yes" : "no"));
        table.lines().forEach(out::println);
        out.println("#");
        calibration
                .measured()
                .forEach(constant -> out.println("# " + constant.key() + ": "
                        + TerminalText.of(calibration.profile().source(constant))));
        if (output != null) {
            TextFile.write(output, ProfileJson.write(calibration.profile()));
            out.println("#");
            out.println("# written to " + TerminalText.of(output.toString()));
        }
    }
}
