package dev.banyan.cli.trace;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.banyan.cli.bench.rank.BackendOption;
import dev.banyan.cli.bench.rank.FreeMemory;
import dev.banyan.cli.bench.rank.RankBackend;
import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.input.RankedGpus;
import dev.banyan.cli.output.OutputFile;
import dev.banyan.cli.output.ReportCommand;
import dev.banyan.cli.output.RunContext;
import dev.banyan.config.Config;
import dev.banyan.dlc.DlcTrace;
import dev.banyan.dlc.TraceRecorder;
import dev.banyan.kvstore.KVStore;
import dev.banyan.kvstore.Key;
import dev.banyan.kvstore.StoreType;
import dev.banyan.kvstore.internal.overlap.BackwardPass;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.reduce.optimizer.Optimizer;
import dev.banyan.schedule.type.DataType;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.workload.Workload;
import dev.banyan.topology.Machine;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code banyan trace run}: records a run of a key-value store. */
@Command(
        name = "run",
        description =
                "Run a model's training steps on a key-value store of virtual devices in host memory, or of GPUs, and"
                        + " write what it does as traces: one file for each worker and server.",
        footer = {
            "",
            "In each iteration gradients become ready one after another, the last layer's",
            "first, and are pushed and pulled by priority; SGD applies them at the servers.",
            "Each device is a worker, and the server of the keys whose values it holds.",
            "",
            "Examples:",
            "  banyan trace run --workload lenet-5 --devices 0,1 --iterations 3 --output traces",
            "  banyan trace run --workload resnet-50 --iterations 2 --output traces --timeline steps.json",
            "  banyan trace run --workload resnet-50 --devices 0,0 --output traces",
            "  banyan trace stats traces/*.txt"
        })
final class TraceRunCommand extends ReportCommand {
    private static final int MOST_COMPUTE_MS = 60_000;
    private static final int WARMUPS = 10;

    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Option(
            names = "--workload",
            paramLabel = "MODEL|FILE",
            description = "Whose gradients: as bench has it (default: lenet-5).")
    private @Nullable Workload workload;

    @Mixin
    private final BackendOption backend = new BackendOption();

    @Option(names = "--iterations", paramLabel = "K", description = "Training steps (default: 3).")
    private int iterations = 3;

    @Option(
            names = "--compute-ms",
            paramLabel = "T",
            description = "Over which time the gradients of a step become ready (default: 5).")
    private double computeMs = 5;

    @Option(
            names = "--kvstore",
            paramLabel = "TYPE",
            description = "device, a parameter server, tree, ring or auto (default: device).")
    private StoreType store = StoreType.DEVICE;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FOLDER",
            required = true,
            description = "Where the traces go: a folder that is empty or not there yet.")
    private Path out = Path.of("");

    @Option(
            names = "--timeline",
            paramLabel = "FILE.json",
            description = "On the host, also write when each step ran, for ui.perfetto.dev: a row per device and per"
                    + " direction of a link. Some 16 KiB of an array make a few steps, so keep the run short.")
    private @Nullable OutputFile timeline;

    /**
     * The result of a run, as JSON has it.
     *
     * @param keys number of keys
     * @param records records of all files
     * @param steps one for each iteration
     */
    private record Report(
            String workload,
            String kvstore,
            int keys,
            int iterations,
            double computeMs,
            int records,
            @JsonProperty("rows") List<Step> steps,
            List<String> files) {}

    /** One step and its time. */
    private record Step(int iteration, double timeMs) {}

    @Override
    public void run() {
        refuseNonsense();
        Workload played =
                workload == null ? Objects.requireNonNull(Workload.all().get("lenet-5")) : workload;
        Config config = Config.load();
        switch (timeline == null ? backend.choose(machine) : RankBackend.HOST) {
            case HOST -> {
                ChosenMachine chosen = machine.choose(1);
                HostTimeline steps = timeline == null ? null : new HostTimeline(chosen.network());
                try (HostBackend devices = new HostBackend(
                        chosen.machine().size(), config.get(HostBackend.THREADS), config.get(Communicator.TIMEOUT))) {
                    play(played, chosen, config, devices, () -> devices.setListener(steps), steps);
                }
            }
            case CUDA -> {
                RankedGpus ranked = machine.chooseGpus(1);
                try (Backend devices = Communicator.gpuBackend(ranked.chosen().whole(), config, ranked.ordinals())) {
                    play(played, ranked.chosen(), config, devices, () -> {}, null);
                }
            }
        }
    }

    /**
     * @param warm called when plans are made and code is compiled
     * @param steps hears the steps from then on, or null
     */
    private void play(
            Workload played,
            ChosenMachine chosen,
            Config config,
            Backend devices,
            Runnable warm,
            @Nullable HostTimeline steps) {
        if (!forPrograms()) {
            remark(chosen.remark(), chosen.warnings());
        }
        int ranks = chosen.machine().size();
        if (devices.inHostMemory()) {
            // Two stores have every rank's gradients, and at the servers the values and the sums.
            FreeMemory.require(
                    2L * (ranks + 2) * played.totalElements() * DataType.F32.bytes(),
                    "use fewer devices with --devices, or a smaller workload");
        }
        TraceRecorder recorder = new TraceRecorder(ranks, hostname());
        List<Double> stepMs = new ArrayList<>();
        try (Communicator communicator = Communicator.create(chosen.machine(), config, devices);
                KVStore kvstore = open(communicator)) {
            warmUp(played, communicator);
            kvstore.setListener(recorder);
            BackwardPass pass = pass(played, communicator, kvstore);
            warm.run();
            Duration compute = Duration.ofNanos(Math.round(computeMs * 1e6));
            for (int i = 0; i < iterations; i++) {
                stepMs.add(pass.step(compute) / 1e6);
            }
        }
        Report report = write(recorder, steps, played, stepMs);
        RunContext context = RunContext.of(chosen.machine(), devices.platform(), null);
        print(context, report, () -> print(report, chosen.machine()));
    }

    private void refuseNonsense() {
        require(iterations > 0, "--iterations is " + iterations + "; it must be at least 1");
        require(
                computeMs >= 0 && computeMs <= MOST_COMPUTE_MS,
                "--compute-ms is " + computeMs + "; it must be at least 0 and at most " + MOST_COMPUTE_MS);
        require(isEmpty(out), "--output " + out + " is there and not an empty folder; name another one");
        if (timeline != null) {
            backend.requireHost("--timeline");
        }
    }

    private static boolean isEmpty(Path folder) {
        if (!Files.exists(folder)) {
            return true;
        }
        if (!Files.isDirectory(folder)) {
            return false;
        }
        try (Stream<Path> inside = Files.list(folder)) {
            return inside.findAny().isEmpty();
        } catch (IOException e) {
            throw new UncheckedIOException("can't look into " + folder + ": " + e.getMessage(), e);
        }
    }

    private KVStore open(Communicator communicator) {
        return KVStore.builder(communicator)
                .type(store)
                .optimizer(Optimizer.sgd(0.01))
                .open();
    }

    /** Makes the plans, so that no iteration has to, and lets the code be compiled. */
    private void warmUp(Workload played, Communicator communicator) {
        try (KVStore another = open(communicator)) {
            BackwardPass pass = pass(played, communicator, another);
            for (int i = 0; i < WARMUPS; i++) {
                pass.step(Duration.ZERO);
            }
        }
    }

    private static BackwardPass pass(Workload played, Communicator communicator, KVStore kvstore) {
        List<Key> keys = IntStream.range(0, played.keys()).mapToObj(Key::of).toList();
        List<List<MemorySegment>> gradients = new ArrayList<>();
        for (Key key : keys) {
            long count = played.elements().get(gradients.size());
            long bytes = count * DataType.F32.bytes();
            try (Arena arena = Arena.ofConfined()) {
                kvstore.init(key, arena.allocate(bytes, DataType.F32.bytes()), count, DataType.F32);
            }
            gradients.add(IntStream.range(0, communicator.size())
                    .mapToObj(rank -> communicator.allocate(rank, bytes))
                    .toList());
        }
        return new BackwardPass(kvstore, keys, gradients);
    }

    private Report write(TraceRecorder recorder, @Nullable HostTimeline steps, Workload played, List<Double> stepMs) {
        try {
            List<Path> files = recorder.write(out);
            if (steps != null && timeline != null) {
                steps.write(timeline.path());
            }
            return new Report(
                    played.name(),
                    store.label(),
                    played.keys(),
                    iterations,
                    computeMs,
                    recorder.traces().stream().mapToInt(DlcTrace::size).sum(),
                    IntStream.range(0, stepMs.size())
                            .mapToObj(iteration -> new Step(iteration, stepMs.get(iteration)))
                            .toList(),
                    files.stream().map(Path::toString).toList());
        } catch (IOException e) {
            throw new UncheckedIOException("can't write the traces: " + e, e);
        }
    }

    private void print(Report report, Machine on) {
        PrintWriter to = out();
        to.println(Numbers.format(
                "# %s, %s, %s on %s of %s, kvstore %s, gradients over %.1f ms",
                report.workload,
                Numbers.count(report.keys, "key"),
                Numbers.count(report.iterations, "iteration"),
                Numbers.count(on.size(), "device"),
                on.name(),
                report.kvstore,
                report.computeMs));
        to.println(Numbers.format(
                "# an iteration took %.3f ms on average",
                report.steps.stream().mapToDouble(Step::timeMs).average().orElse(0)));
        to.println("# " + Numbers.count(report.records, "record") + " in " + Numbers.count(report.files.size(), "file")
                + "; see banyan trace stats:");
        report.files.forEach(to::println);
        if (timeline != null) {
            to.println("# timeline: " + timeline + " (open it in ui.perfetto.dev)");
        }
    }

    private static String hostname() {
        try {
            String name = InetAddress.getLocalHost().getHostName();
            return name.matches("\\S+") ? name : "localhost";
        } catch (UnknownHostException e) {
            // A machine without a name in any directory; the traces need some word.
            return "localhost";
        }
    }
}
