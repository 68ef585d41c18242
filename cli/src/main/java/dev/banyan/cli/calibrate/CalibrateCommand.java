package dev.banyan.cli.calibrate;

import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.output.OutputFile;
import dev.banyan.cli.output.ReportCommand;
import dev.banyan.cli.output.RunContext;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.cli.output.TextFile;
import dev.banyan.gpuday.DayConstants;
import dev.banyan.gpuday.DayFolder;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.ProfileJson;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.measured.Calibration;
import dev.banyan.study.measured.P2pReader;
import dev.banyan.study.measured.P2pReport;
import dev.banyan.study.measured.P2pReport.Measure;
import dev.banyan.study.text.FigureText;
import dev.banyan.study.text.TextTable;
import dev.banyan.topology.Machine;
import dev.banyan.topology.format.MachineReader;
import dev.banyan.topology.option.MatrixUnit;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code banyan calibrate}: a profile out of measured copies. */
@Command(
        name = "calibrate",
        description = {
            "Make a simulator profile out of what p2pBandwidthLatencyTest (of the CUDA samples) or scripts/gpu-day.sh"
                    + " measured on a machine.",
            "Constants that were not measured come from another profile; every value names its source."
        },
        footer = {
            "",
            "Examples:",
            "  banyan calibrate --from p2p.txt --machine topo.txt --output profile.json",
            "  banyan calibrate --from p2p.txt --machine dgx-a100 --base a100-nvswitch --name ours",
            "  banyan calibrate --from gpu-day-20261122-093000 --output profile.json"
        })
public final class CalibrateCommand extends ReportCommand {
    @Option(
            names = "--from",
            required = true,
            paramLabel = "FILE|FOLDER",
            description = {
                "What p2pBandwidthLatencyTest printed, or a part of it that holds whole matrices; or a folder that"
                        + " scripts/gpu-day.sh wrote, which holds that, the machine, and more."
            })
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
    private @Nullable OutputFile output;

    /**
     * A constant of the new profile, as JSON has it.
     *
     * @param before its value in the profile for what is not measured
     * @param measured whether the value is measured
     * @param source where the value comes from
     */
    private record Row(String constant, double value, double before, boolean measured, String source) {}

    @Override
    public void run() {
        require(
                Files.exists(from),
                "--from: no file is called '" + from + "'; name what p2pBandwidthLatencyTest or gpu-day wrote");
        if (Files.isDirectory(from)) {
            calibrateByDay();
            return;
        }
        P2pReport report = P2pReader.read(from);
        ChosenMachine chosen = machine.choose(2);
        Profile rest = base == null ? Profiles.of(chosen.machine()) : base;
        String called = name == null ? chosen.machine().name() + "-measured" : name;
        Calibration calibration = Calibration.of(report, chosen.machine(), rest, called);
        List<String> warnings = new ArrayList<>(chosen.machine().warnings());
        if (report.deniesPeerAccessOf(chosen.machine())) {
            warnings.add(report.source() + " says that no pair of GPUs has peer access, and "
                    + chosen.machine().name()
                    + " does not say so; add --peer-access no here and wherever the profile is used");
        }
        remark(forPrograms() ? null : chosen.remark(), warnings);
        answer(chosen.machine(), calibration, rest, report.source(), () -> {
            PrintWriter out = out();
            calibration
                    .measured()
                    .forEach(constant -> out.println("# " + constant.key() + ": "
                            + TerminalText.of(calibration.profile().source(constant))));
            if (!calibration.unused().isEmpty()) {
                out.println("# not used: "
                        + calibration.unused().stream().map(Measure::title).collect(Collectors.joining(", "))
                        + "; constants of PCIe take P2P=Disabled, and those of NVLink P2P=Enabled, both ways before"
                        + " one way");
            }
        });
    }

    /**
     * Prints the constants, and writes them.
     *
     * @param source what was measured
     * @param details prints more for people
     */
    private void answer(Machine of, Calibration calibration, Profile rest, String source, Runnable details) {
        Profile profile = calibration.profile();
        List<Row> rows = new ArrayList<>();
        profile.constants()
                .forEach((constant, value) -> rows.add(new Row(
                        constant.key(),
                        value.value(),
                        rest.get(constant),
                        calibration.measured().contains(constant),
                        profile.source(constant))));
        print(RunContext.of(of).with(profile.name()), rows, () -> {
            PrintWriter out = out();
            out.println("# profile " + TerminalText.of(profile.name()) + ": "
                    + calibration.measured().size() + " constants from " + TerminalText.of(source)
                    + ", the others from " + TerminalText.of(rest.name()));
            out.println("#");
            TextTable table = new TextTable("constant", "value", "before", "measured");
            rows.forEach(row -> table.row(
                    row.constant,
                    FigureText.constant(row.value),
                    FigureText.constant(row.before),
                    row.measured ? "yes" : "no"));
            table.lines().forEach(out::println);
            out.println("#");
            details.run();
        });
        if (output != null) {
            TextFile.write(output.path(), ProfileJson.write(profile));
            if (!forPrograms()) {
                out().println("#");
                out().println("# written to " + TerminalText.of(output.toString()));
            }
        }
    }

    private void calibrateByDay() {
        DayFolder day = new DayFolder(from);
        Machine measured = machine(day);
        Profile rest = base == null ? Profiles.of(measured) : base;
        String called = name == null ? measured.name() + "-measured" : name;
        Calibration calibration = DayConstants.calibrate(day, measured, rest, called);
        if (day.isQuick()) {
            remarkAside(null, List.of(from + " was measured with -q, so that its figures mean nothing"));
        }
        answer(measured, calibration, rest, from.toString(), () -> printDay(calibration, rest));
    }

    private void printDay(Calibration calibration, Profile rest) {
        PrintWriter out = out();
        for (Constant constant : calibration.measured()) {
            out.println("# " + constant.key() + ": " + FigureText.constant(rest.get(constant)) + " ("
                    + TerminalText.of(rest.source(constant)) + ") is replaced by "
                    + FigureText.constant(calibration.profile().get(constant)) + " ("
                    + TerminalText.of(calibration.profile().source(constant)) + ")");
        }
        List<Constant> kept = Stream.of(Constant.values())
                .filter(constant -> !calibration.measured().contains(constant))
                .toList();
        Predicate<Constant> assumed = constant -> rest.source(constant).matches("(?s).*(assumed|not measured).*");
        keys("# still assumed: ", kept, assumed);
        keys("# from elsewhere, as in " + TerminalText.of(rest.name()) + ": ", kept, assumed.negate());
    }

    private void keys(String title, List<Constant> constants, Predicate<Constant> which) {
        List<String> keys = constants.stream().filter(which).map(Constant::key).toList();
        out().println(title + (keys.isEmpty() ? "none" : String.join(", ", keys)));
    }

    /** Returns the machine of --machine, or else the one that the folder's probe found. */
    private Machine machine(DayFolder day) {
        if (machine.isNamed()) {
            return machine.choose(1).machine();
        }
        require(machine.devices() == null, "--devices and -g need --machine");
        Path file = day.machine()
                .orElseThrow(() -> new IllegalStateException("the part probe of " + from
                        + " is not done, so its machine is not known; name it with --machine"));
        return new MachineReader(MatrixUnit.CLASSES).read(file);
    }
}
