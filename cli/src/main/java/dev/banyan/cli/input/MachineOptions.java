package dev.banyan.cli.input;

import dev.banyan.cli.output.OptionGroup;
import dev.banyan.config.internal.SimilarNames;
import dev.banyan.cuda.internal.driver.CudaDevices;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import dev.banyan.topology.ThisMachine;
import dev.banyan.topology.format.MachineReader;
import dev.banyan.topology.option.MatrixUnit;
import dev.banyan.topology.option.StatedSpeeds;
import dev.banyan.topology.option.StatedSpeeds.PeerAccess;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** The options that say which machine is meant. */
public final class MachineOptions extends OptionGroup {
    /** Matches names that can only be those of files. */
    private static final Pattern FILE_NAME = Pattern.compile("/|\\.(txt|xml|json|csv|log)$");

    /** Taken where nothing is said and nothing found. */
    private static final String DEFAULT_PRESET = "p3.16xlarge";

    private static final int MOST_DEVICES = 1024;

    /** Options that describe the machine of a file. */
    private static final List<String> OF_FILES =
            List.of("--unit", "--gpu", "--pcie-gen", "--pcie-lanes", "--nvlink-gbs", "--socket-gbs", "--peer-access");

    @Option(
            names = {"-m", "--machine"},
            paramLabel = "PRESET|FILE|-",
            description = {
                "The machine: a preset, a file, or - for standard input. Presets:",
                "  p3.16xlarge (dgx-1v), p3.8xlarge, p2.16xlarge,",
                "  dgx-1p (dgx-1), dgx-2,",
                "  dgx-a100 (p4d.24xlarge, p4de.24xlarge),",
                "  dgx-h100 (p5.48xlarge),",
                "  h200 (hgx-h200, p5e.48xlarge, p5en.48xlarge),",
                "  dgx-b200 (hgx-b200), gb200-tray, gb200-nvl4, mi300x8, mi250x8,",
                "  g5.48xlarge, l40sx8, rtx4090x8, pcie-4, pcie-8",
                "A file may hold the output of nvidia-smi topo -m, rocm-smi --showtopo or amd-smi topology, an NCCL"
                        + " topology XML, an n x n matrix, or Banyan's JSON.",
                "Without it: this machine where a probe finds enough GPUs, else the preset " + DEFAULT_PRESET + "."
            })
    private @Nullable String machine;

    @Option(
            names = "--unit",
            paramLabel = "weights|gbs",
            description = "What an n x n matrix holds: the classic weights 0 to 3, or GB/s one way (default: weights).")
    private @Nullable Unit unit;

    @Option(
            names = "--gpu",
            paramLabel = "MODEL",
            description =
                    "Model of the GPUs as nvidia-smi -L prints it, e.g. \"NVIDIA H200\": it sets speeds that a file"
                            + " leaves open.")
    private String model = "";

    @Option(
            names = "--pcie-gen",
            paramLabel = "3..7",
            description = "Generation of PCIe where a file leaves it open (default: that of the GPUs' model, else 3).")
    private @Nullable Integer pcieGeneration;

    @Option(
            names = "--pcie-lanes",
            paramLabel = "LANES",
            description = "Lanes of PCIe slots where a file leaves them open, e.g. 8 where two cards share the lanes of"
                    + " a desktop CPU (default: 16).")
    private @Nullable Integer pcieLanes;

    @Option(
            names = "--nvlink-gbs",
            paramLabel = "GBS",
            description = "One NVLink or xGMI link one way in GB/s where a file leaves it open, e.g. 50 for B200.")
    private @Nullable Double nvlinkGbs;

    @Option(
            names = "--socket-gbs",
            paramLabel = "GBS",
            description = "Between two CPU sockets one way in GB/s, for all copies together; p2pBandwidthLatencyTest"
                    + " measures less where the PCIe link of a GPU is slower (default: if the file has the whole"
                    + " output of lscpu, what NCCL counts for the CPU, 6 to 40, but 10 for Xeons before Skylake; else"
                    + " 10).")
    private @Nullable Double socketGbs;

    @Option(
            names = "--peer-access",
            paramLabel = "yes|no",
            description = "Whether the driver grants peer access between all GPUs where a file leaves it open (default:"
                    + " no for GeForce cards from series 40 on, else yes).")
    private @Nullable Answer peerAccess;

    @Option(
            names = "--devices",
            paramLabel = "LIST",
            description = "Devices to use, in the order of ranks, e.g. 4,2,3,1 or 0-3 (default: all). Where GPUs carry"
                    + " out calls, several ranks may share one, e.g. 0,0,0,0.")
    private @Nullable DeviceList devices;

    @Option(
            names = {"-g", "--ngpus"},
            paramLabel = "N",
            description = "The first N devices of the machine, as --devices 0-(N-1).")
    private @Nullable Integer first;

    /** An answer about peer access. */
    enum Answer {
        yes(PeerAccess.YES),
        no(PeerAccess.NO);

        private final PeerAccess stated;

        Answer(PeerAccess stated) {
            this.stated = stated;
        }
    }

    /** The unit of a plain matrix. */
    enum Unit {
        weights(MatrixUnit.CLASSES),
        gbs(MatrixUnit.GBS);

        private final MatrixUnit entries;

        Unit(MatrixUnit entries) {
            this.entries = entries;
        }
    }

    /** Returns whether {@code --machine} names one. */
    public boolean isNamed() {
        return machine != null;
    }

    /**
     * Returns the options that describe the whole machine, as a shell takes them. FILE stands for standard input.
     *
     * @param chosen what these options chose
     */
    public String described(ChosenMachine chosen) {
        if (machine == null) {
            String name = chosen.whole().name();
            return Presets.find(name).isPresent() ? "--machine " + name : "";
        }
        return command().getParseResult().matchedOptions().stream()
                .filter(option -> isMachine(option) || OF_FILES.contains(option.longestName()))
                .map(option -> option.longestName() + " "
                        + (isStandardInput() && isMachine(option)
                                ? "FILE"
                                : quoted(option.originalStringValues().getFirst())))
                .collect(Collectors.joining(" "));
    }

    private static boolean isMachine(OptionSpec option) {
        return option.longestName().equals("--machine");
    }

    private static String quoted(String word) {
        return word.matches("[A-Za-z0-9_./:=,@%+-]+") ? word : "'" + word.replace("'", "'\\''") + "'";
    }

    /** Returns whether the machine is described on standard input, which can be read once. */
    private boolean isStandardInput() {
        return "-".equals(machine);
    }

    /** Returns the number that {@code -g} gives, or null. */
    public @Nullable Integer first() {
        return first;
    }

    /**
     * Drops the number that {@code -g} gives, where each process has one device.
     *
     * @throws ParameterException if {@code --devices} is given as well
     */
    public void dropFirst() {
        if (devices() != null) {
            first = null;
        }
    }

    /** Returns the devices of {@code --devices} or {@code -g}, or null. */
    public @Nullable DeviceList devices() {
        if (first == null) {
            return devices;
        }
        require(devices == null, "-g and --devices exclude each other");
        require(first >= 1 && first <= MOST_DEVICES, "-g is " + first + "; it must be from 1 to " + MOST_DEVICES);
        return DeviceList.first(first);
    }

    private String source() {
        return first == null ? "--devices" : "-g " + first;
    }

    /**
     * The machine that is meant, reduced to the wanted devices.
     *
     * @param least number of devices that the command needs
     * @throws ParameterException if the options make no sense
     * @throws IllegalStateException if the machine has too few devices
     */
    public ChosenMachine choose(int least) {
        DeviceList devices = devices();
        ChosenMachine whole = whole(least);
        Machine all = whole.machine();
        if (least > 0 && all.size() == 0) {
            String why = all.warnings().isEmpty() ? "" : " (" + String.join("; ", all.warnings()) + ")";
            throw new IllegalStateException(
                    all.name() + " has no devices" + why + "; name a machine that has some with --machine");
        }
        ChosenMachine chosen = devices == null ? whole : reduced(whole, devices.indices());
        int found = chosen.machine().size();
        if (found < least) {
            String needed = "this command needs at least " + least + " devices, but ";
            if (devices == null) {
                throw new IllegalStateException(needed + all.name() + " has " + found);
            }
            throw wrong(needed + source() + " names " + found);
        }
        return chosen;
    }

    /**
     * The machine and the GPU of each rank. Where {@code --devices} names a GPU several times, no link joins those
     * ranks, and the machine's first devices stand for all.
     *
     * @param least number of ranks that the command needs
     * @throws ParameterException if the options make no sense
     * @throws IllegalStateException if there are too few devices
     * @throws dev.banyan.cuda.type.CudaException if there is no driver
     */
    public RankedGpus chooseGpus(int least) {
        DeviceList devices = devices();
        List<String> busIds = CudaDevices.busIds();
        if (devices == null || devices.repeated().isEmpty()) {
            ChosenMachine chosen = choose(least);
            if (devices == null && chosen.machine().size() > busIds.size()) {
                throw new IllegalStateException(busIds.size() + (busIds.size() == 1 ? " GPU" : " GPUs")
                        + " here for the " + chosen.machine().size() + " ranks of "
                        + chosen.machine().name()
                        + "; name the GPU of each rank with --devices: several ranks may share one, e.g."
                        + " 0,0,0,0, or measure in host memory with --backend host");
            }
            return RankedGpus.of(chosen, chosen.devices(), busIds);
        }
        int[] named = devices.indices();
        ChosenMachine whole = whole(Math.max(least, named.length));
        if (whole.machine().size() < named.length) {
            throw wrong("--devices names " + named.length + " ranks, some on one GPU,"
                    + " and " + whole.machine().name() + ", whose devices stand for them, has "
                    + whole.machine().size() + "; name a larger machine with --machine, e.g. dgx-2");
        }
        ChosenMachine chosen = whole.with(IntStream.range(0, named.length).toArray());
        return RankedGpus.of(chosen, named, busIds);
    }

    private ChosenMachine reduced(ChosenMachine whole, int[] indices) {
        try {
            return whole.with(indices);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(command(), source() + ": " + e.getMessage(), e);
        }
    }

    private ChosenMachine whole(int least) {
        StatedSpeeds stated = stated();
        Optional<Machine> preset = machine == null ? Optional.empty() : Presets.find(machine);
        if ((unit != null || !stated.equals(StatedSpeeds.NONE)) && (machine == null || preset.isPresent())) {
            throw wrong(String.join(", ", OF_FILES.subList(0, OF_FILES.size() - 1)) + " and " + OF_FILES.getLast()
                    + " are for files; "
                    + (machine == null ? "name one by --machine" : "the preset " + machine + " knows its speeds"));
        }
        if (machine == null) {
            return here(least);
        }
        if (preset.isPresent()) {
            return ChosenMachine.whole(preset.get(), null);
        }
        MachineReader reader = new MachineReader(Objects.requireNonNullElse(unit, Unit.weights).entries, stated);
        Machine read = isStandardInput() ? reader.read("stdin", System.in) : reader.read(file(machine));
        boolean usesSocketGbs = read.links().stream()
                .anyMatch(link -> link.kind() == Link.Kind.SOCKET && link.gbsAToB() == stated.socketGbs());
        return ChosenMachine.whole(
                read,
                stated.socketGbs() == 0 || usesSocketGbs
                        ? null
                        : "--socket-gbs changes nothing: no link of " + read.name() + " joins two CPUs");
    }

    /** Returns what an option states; 0 where it states nothing. */
    private double given(String option, @Nullable Number stated) {
        require(
                stated == null || stated.doubleValue() != 0,
                option + " is 0; give what the machine has, or leave it out");
        return stated == null ? 0 : stated.doubleValue();
    }

    private StatedSpeeds stated() {
        try {
            return new StatedSpeeds(
                    (int) given("--pcie-gen", pcieGeneration),
                    (int) given("--pcie-lanes", pcieLanes),
                    given("--nvlink-gbs", nvlinkGbs),
                    given("--socket-gbs", socketGbs),
                    model,
                    peerAccess == null ? PeerAccess.BY_MODEL : peerAccess.stated);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(command(), e.getMessage(), e);
        }
    }

    /** This machine; the preset where it has fewer devices than the command needs. */
    private static ChosenMachine here(int least) {
        String why;
        switch (ThisMachine.look()) {
            case ThisMachine.Found found -> {
                if (found.machine().size() >= least) {
                    return ChosenMachine.whole(found.machine(), found.remark());
                }
                why = "only " + found.machine().name() + " found here";
            }
            case ThisMachine.Missing missing -> why = missing.remark();
        }
        return ChosenMachine.whole(
                Machine.preset(DEFAULT_PRESET),
                why + ": taking the preset " + DEFAULT_PRESET + " (another one by --machine)");
    }

    private Path file(String name) {
        require(!name.isBlank(), "--machine is empty; name a preset or a file");
        try {
            Path path = Path.of(name);
            if (Files.exists(path)) {
                return path;
            }
        } catch (InvalidPathException e) {
            throw new ParameterException(command(), "'" + name + "' can be neither a preset nor a file's name", e);
        }
        throw wrong(
                FILE_NAME.matcher(name).find()
                        ? "no file is called '" + name + "', nor a preset; check the name and the current folder"
                        : "no preset and no file is called '" + name + "'"
                                + SimilarNames.question(name, Presets.names())
                                + "; --help lists the presets");
    }
}
