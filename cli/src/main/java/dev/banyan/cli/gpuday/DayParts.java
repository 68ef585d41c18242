package dev.banyan.cli.gpuday;

import dev.banyan.cli.output.TextFile;
import dev.banyan.cli.process.JavaCommand;
import dev.banyan.gpuday.Measurement;
import dev.banyan.nccl.internal.NcclException;
import dev.banyan.nccl.internal.NcclLibrary;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The parts of a day, in the order in which they run: what else depends on first, then what is short. */
final class DayParts {
    private static final int MOST_RANKS = 16;
    private static final long GIB = 1L << 30;
    /** What a selftest of two ranks above 4 GiB takes, and what two ranks on one GPU take to reduce arrays of 1 GiB. */
    private static final long LARGE_BYTES = 20_000_000_000L;

    private static final long GIB_ARRAYS_BYTES = 9 * GIB;
    private static final double TIME_OF_MEASUREMENT = 0.8;

    private final boolean quick;
    private final Path folder;
    private final String trainerPath;

    /**
     * @param quick whether to try the parts rather than the machine
     * @param folder where results go
     * @param trainerPath class path of the example of a trainer
     */
    DayParts(boolean quick, Path folder, String trainerPath) {
        this.quick = quick;
        this.folder = folder;
        this.trainerPath = trainerPath;
    }

    /** Names of all parts. */
    static List<String> names() {
        return new DayParts(true, Path.of(""), "")
                .list().stream().map(Part::name).toList();
    }

    List<Part> list() {
        List<Part> parts = new ArrayList<>();
        parts.add(measured(Measurement.CARDS, "the GPUs, the driver, and which GPUs reach each other", 3));
        parts.add(new Part(
                "probe",
                "copies between all GPUs, as p2pBandwidthLatencyTest prints them",
                3,
                (gpus, time) -> probe()));
        parts.add(measured(Measurement.GRAPH_LAUNCH, "cuGraphLaunch by the number of nodes", 3));
        parts.add(measured(Measurement.KERNEL_LAUNCH, "a kernel on each GPU, from one thread and from several", 2));
        parts.add(measured(Measurement.FLAGS, "round trips of flags between blocks and between GPUs", 3));
        parts.add(measured(Measurement.REDUCTIONS, "f32 sums of 2 to 8 arrays against copies", 2));
        parts.add(measured(Measurement.COPIES_AT_ONCE, "copies at once, to the host and to peers", 3));
        parts.add(measured(Measurement.PEER_BANDWIDTH, "each pair by copy engines, loads and stores", 4));
        parts.add(new Part(
                "overhead",
                "an all_reduce of 4 bytes over two ranks on one GPU",
                2,
                (gpus, time) -> bench("--devices", "0,0", "-b", "4", "-e", "4", "-a", "ring")));
        parts.add(new Part("reduce", "a reduce of two ranks on one GPU, by Banyan's own kernel", 2, this::reduce));
        parts.add(new Part(
                "writes",
                "writes to GPUs, each followed at once by a collective",
                3,
                (gpus, time) -> measure("writes", time)));
        for (int ranks : new int[] {1, 2, 4, 8}) {
            parts.add(new Part(
                    "selftest-" + ranks,
                    "selftest with " + (ranks == 1 ? "1 rank" : ranks + " ranks") + " on one GPU",
                    3 + ranks,
                    (gpus, time) -> selftest("--devices", onOneGpu(ranks))));
        }
        parts.add(
                new Part("selftest-all", "selftest with a rank on every GPU", 8, (gpus, time) -> selftestOfAll(gpus)));
        parts.add(new Part(
                "selftest-graph",
                "selftest with 2 ranks on one GPU, by graphs of copies instead of kernels",
                5,
                (gpus, time) -> selftestByGraphs()));
        parts.add(
                new Part("nccl", "NCCL and Banyan on the same buffers, in turns", 5, (gpus, time) -> besideNccl(gpus)));
        parts.add(new Part(
                "workload", "the gradients of a model over four ranks on one GPU", 4, (gpus, time) -> workload()));
        for (String tool : List.of("memcheck", "racecheck", "initcheck")) {
            parts.add(new Part(
                    tool, "compute-sanitizer's " + tool + " of a short selftest", 7, (gpus, time) -> sanitizer(tool)));
        }
        parts.add(new Part("large", "selftest of arrays above 4 GiB", 9, (gpus, time) -> large(gpus)));
        parts.add(
                new Part("trainer", "the example of a trainer in PyTorch's streams", 4, (gpus, time) -> trainer(gpus)));
        return parts;
    }

    private Part measured(Measurement measurement, String what, int share) {
        return new Part(measurement.label(), what, share, (gpus, time) -> measure(measurement.label(), time));
    }

    /** The process ends by itself before it would be ended, and so its last figures are whole. */
    private Plan measure(String name, Duration time) {
        List<String> arguments = new ArrayList<>(List.of("gpu-day", "measure", name, "--millis"));
        arguments.add(Long.toString(Math.round(time.toMillis() * TIME_OF_MEASUREMENT)));
        if (quick) {
            arguments.add("--quick");
        }
        return new Plan.Run(JavaCommand.banyan(arguments.toArray(String[]::new)), OutputReader.RECORDS);
    }

    private Plan probe() {
        return new Plan.Run(
                JavaCommand.banyan(
                        "probe",
                        "--measure",
                        "--bytes",
                        quick ? "16K" : "16M",
                        "--output",
                        folder.resolve(DayFolder.MACHINE).toString()),
                OutputReader.PROBE);
    }

    private Plan bench(String... arguments) {
        List<String> all = new ArrayList<>(List.of("bench", "--backend", "cuda", "--format", "json"));
        all.addAll(Arrays.asList(arguments));
        if (quick) {
            all.addAll(List.of("-n", "2"));
        }
        return new Plan.Run(JavaCommand.banyan(all.toArray(String[]::new)), OutputReader.BENCH);
    }

    private Plan reduce(KnownGpus gpus, Duration time) {
        String size = quick ? "64K" : gpus.freeBytes() >= GIB_ARRAYS_BYTES ? "1G" : "256M";
        return bench("--devices", "0,0", "--collective", "reduce", "-b", size, "-e", size, "-a", "star");
    }

    private Plan besideNccl(KnownGpus gpus) {
        try {
            NcclLibrary.load(NcclLibrary.FILE.ofProcess().orElse(null));
        } catch (NcclException e) {
            return new Plan.Skip(String.valueOf(e.getMessage()));
        }
        return switch (gpus.count()) {
            case 0 -> new Plan.Skip("the number of GPUs is not known, as the part cards is not done");
            case 1 -> new Plan.Skip("there is one GPU, and NCCL takes each GPU once");
            default -> bench("-a", "auto,nccl", "-b", "1K", "-e", quick ? "4K" : "256M", "-f", "4");
        };
    }

    private Plan workload() {
        Path keys = folder.resolve("keys.csv");
        if (!quick) {
            return bench("--devices", "0,0,0,0", "--workload", "resnet-50");
        }
        TextFile.write(keys, List.of("a,10", "b,2000"));
        return bench("--devices", "0,0,0,0", "-a", "star", "--workload", keys.toString());
    }

    private Plan selftest(String... arguments) {
        return new Plan.Run(JavaCommand.banyan(selftestArguments(quick, arguments)), OutputReader.SELFTEST);
    }

    private Plan selftestByGraphs() {
        List<String> command = new ArrayList<>(List.of("/usr/bin/env", "BANYAN_CUDA_EXECUTOR=graph"));
        command.addAll(JavaCommand.banyan(selftestArguments(quick, "--devices", onOneGpu(2))));
        return new Plan.Run(command, OutputReader.SELFTEST);
    }

    private static String[] selftestArguments(boolean brief, String... arguments) {
        List<String> all = new ArrayList<>(List.of("selftest", "--backend", "cuda"));
        all.addAll(Arrays.asList(arguments));
        if (brief) {
            all.addAll(List.of("--short", "--algorithm", "star"));
        }
        return all.toArray(String[]::new);
    }

    private Plan selftestOfAll(KnownGpus gpus) {
        return switch (gpus.count()) {
            case 0 -> new Plan.Skip("the number of GPUs is not known, as the part cards is not done");
            case 1 -> new Plan.Skip("there is one GPU, and so selftest-1 is the same");
            default -> selftest("--devices", "0-" + (Math.min(gpus.count(), MOST_RANKS) - 1));
        };
    }

    private static String onOneGpu(int ranks) {
        return String.join(",", Collections.nCopies(ranks, "0"));
    }

    private Plan sanitizer(String tool) {
        Optional<Path> sanitizer = sanitizer();
        if (sanitizer.isEmpty()) {
            return new Plan.Skip("compute-sanitizer is neither on the PATH nor in /usr/local/cuda/bin; install CUDA's"
                    + " toolkit, or run compute-sanitizer --tool " + tool + " banyan selftest --devices 0,0 --short"
                    + " where it is");
        }
        List<String> command = new ArrayList<>(List.of(
                sanitizer.get().toString(), "--tool", tool, "--target-processes", "all", "--error-exitcode", "9"));
        command.addAll(JavaCommand.banyan(selftestArguments(true, "--devices", "0,0")));
        return new Plan.Run(command, OutputReader.SANITIZER);
    }

    private static Optional<Path> sanitizer() {
        String path = System.getenv().getOrDefault("PATH", "");
        return Stream.concat(Arrays.stream(path.split(File.pathSeparator, -1)), Stream.of("/usr/local/cuda/bin"))
                .filter(folder -> !folder.isEmpty())
                .map(folder -> Path.of(folder, "compute-sanitizer"))
                .filter(Files::isExecutable)
                .findFirst();
    }

    private Plan large(KnownGpus gpus) {
        if (quick) {
            return new Plan.Skip("--quick takes no arrays above 4 GiB");
        }
        if (gpus.freeBytes() < LARGE_BYTES) {
            return new Plan.Skip("the first GPU has " + gpus.freeBytes() + " bytes of free memory, and two ranks need "
                    + LARGE_BYTES);
        }
        return selftest("--devices", "0,0", "--large", "--algorithm", "ring");
    }

    private Plan trainer(KnownGpus gpus) {
        Optional<String> lacking = TrainerPath.lacks(trainerPath);
        if (lacking.isPresent()) {
            return new Plan.Skip("the class path lacks " + lacking.get()
                    + "; run banyan gpu-day --parts cards,trainer --trainer CLASSPATH with the jars of"
                    + " examples/djl-mnist/target and lib, of which pytorch-native-cu128 takes the place of"
                    + " pytorch-native-cpu");
        }
        if (gpus.count() == 1) {
            return new Plan.Skip("there is one GPU, on which DJL trains without Banyan");
        }
        return new Plan.Run(JavaCommand.java(trainerPath, TrainerPath.MAIN), OutputReader.TRAINER);
    }
}
