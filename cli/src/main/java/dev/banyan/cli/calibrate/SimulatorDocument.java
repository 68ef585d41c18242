package dev.banyan.cli.calibrate;

import dev.banyan.cli.output.TextTable;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.measured.PublishedSweep;
import dev.banyan.study.measured.SweepComparison;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** The page on the simulator: model, constants with their sources, and every comparison. */
final class SimulatorDocument {
    private static final String MODEL = """
        # The simulator, and how far to trust it

        This page is written by `banyan validate --sweeps FOLDER --report docs/simulator.md`; don't edit it.

        ## The model

        The simulator runs the schedules that the backends run. A copy occupies every directed link of its path;
        copies that share a link share its bandwidth max-min fairly; it arrives a latency after it was sent. Reductions
        move their bytes through a device's memory. What a link carries is its nominal bandwidth times an efficiency of
        its kind. The Javadoc of `Simulator` has the rest.

        Device programs, one kernel on each GPU, are simulated block by block (`ProgramSimulator`): a thread for each
        GPU launches its kernel; a block waits for flags or lines of data, shares links with the other blocks, and is
        no faster than `program.blockGbs`. No GPU with links to others has run them yet. Their constants are
        published ones of other kernels, or assumed, and have ranges; `banyan bench --backend sim` prints the range of
        each time, and the automatic choice goes by the middle. `banyan calibrate --from` a folder of `gpu-day.sh`
        replaces those that it measures, and `banyan tune --backend cuda` asks no model at all.

        NCCL is simulated as it works: ring schedules over the rings that the links allow (`NcclRings`), once for each
        of its protocols LL, LL128 and Simple, of which the fastest counts. A protocol is three constants: what a call
        takes (`BaseUs`), what a hop takes (`HopUs`), and the fraction of what links carry that it fills with data
        (`Fraction`, 0 where it isn't used). Chains (reduce, broadcast) cost their base, one hop and what more data
        take, as calls follow one another down the chain. A process launches on its devices one after the other
        (`nccl.launchUs`), and no call is faster than that. Where devices have no peer access, every hop goes up to a
        CPU socket and down again, and a device that sends and receives gets `host.duplex` of what one way alone does.
        An all_reduce of three or more devices around NVSwitches that reduce (`nccl.nvlsFraction` above 0) may also be
        reduced there (NVLS): `nccl.nvlsBaseUs`, and the time in which each device's links carry all data and a block
        more each way. Not simulated: NCCL's trees, its choice of fewer channels for small data, its kernels for
        registered (symmetric) memory, CollNet, several machines, and what differs between its versions.

        ## Calibration

        Constants of links and memory come from p2pBandwidthLatencyTest (`banyan calibrate` does the same with yours, and
        with a folder of `gpu-day.sh`): for a machine class without a published sweep they are all that is measured.
        NCCL's own constants are fitted to the sweeps named below as the source; a fit has one value per constant and class,
        none per row. A constant that was not measured says so.
        """;

    private final List<Comparison> comparisons;
    private final List<String> leftOut;
    private final List<String> lines = new ArrayList<>();

    SimulatorDocument(List<Comparison> comparisons, List<String> leftOut) {
        this.comparisons = List.copyOf(comparisons);
        this.leftOut = List.copyOf(leftOut);
    }

    /** The whole page; lines end in a line feed. */
    String markdown() {
        lines.clear();
        MODEL.lines().forEach(lines::add);
        summary();
        programs();
        comparisons.forEach(this::sweep);
        if (!leftOut.isEmpty()) {
            add("", "## Left out", "");
            leftOut.forEach(one -> lines.add("- " + one));
        }
        constants();
        return String.join("\n", lines) + "\n";
    }

    private void add(String... more) {
        lines.addAll(List.of(more));
    }

    private void summary() {
        add("", "## Validation", "");
        add("Errors of the simulated time as a share of the measured one (out of place), signs apart, over the"
                + " rows from");
        add(
                "64 KiB on; of an even number of rows the median is the greater of the middle two. \"Seen\" says"
                        + " whether any",
                "constant was taken from the sweep.",
                "");
        TextTable table = new TextTable("sweep", "devices", "profile", "rows", "median", "worst", "seen");
        for (Comparison one : comparisons) {
            SweepComparison large = one.large();
            table.row(
                    one.setting().file(),
                    Integer.toString(one.setting().machine().size()),
                    one.profile().name(),
                    Integer.toString(large.rows().size()),
                    FigureText.percent(large.medianError()),
                    FigureText.percent(large.worstError()),
                    one.seen());
        }
        lines.addAll(table.markdown());
    }

    private void programs() {
        add("", "## Device programs", "");
        add("What `auto` would take. None of these times was measured: they are predicted from the constants"
                + " below, most of");
        add("which are assumed, and a range has all of them at one end. nccl-tests start calls behind one another,"
                + " or with a");
        add("process for each GPU, which hides launches; a predicted time is of one call, whose kernels a thread for"
                + " each GPU");
        add("launches.");
        add("");
        ProgramPredictions predictions = new ProgramPredictions();
        comparisons.forEach(predictions::add);
        lines.addAll(predictions.markdown());
        add("", "## Sweeps");
    }

    private void sweep(Comparison one) {
        PublishedSweep setting = one.setting();
        add("", "### " + setting.file(), "");
        add(setting.collective().label() + " on " + setting.machine().size() + " devices of "
                + setting.machine().name() + ", " + setting.devicesPerProcess() + " per process, "
                + switch (setting.transport()) {
                    case PEER -> "peer to peer";
                    case HOST -> "through the host's memory";
                }
                + ". Source: " + setting.source() + ".");
        add("Calibration: " + setting.seen().orElse("not seen") + ".");
        if (!setting.remark().isEmpty()) {
            add("", setting.remark());
        }
        add("");
        lines.addAll(ValidationReport.of(one).table().markdown());
    }

    private void constants() {
        add("", "## Constants");
        Stream.concat(Profiles.all().stream(), comparisons.stream().map(Comparison::profile))
                .distinct()
                .forEach(this::constants);
    }

    private void constants(Profile profile) {
        add("", "### " + profile.name(), "");
        add("| constant | value | source |", "|---|---:|---|");
        for (Constant constant : Constant.values()) {
            add("| " + constant.key() + " | " + value(profile, constant) + " | "
                    + profile.source(constant).replace("|", "\\|") + " |");
        }
    }

    private static String value(Profile profile, Constant constant) {
        Profile.Value value = Objects.requireNonNull(profile.constants().get(constant));
        String middle = FigureText.constant(value.value());
        return value.isRange()
                ? middle + " (" + FigureText.constant(value.low()) + " to " + FigureText.constant(value.high()) + ")"
                : middle;
    }
}
