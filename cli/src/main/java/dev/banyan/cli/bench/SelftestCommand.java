package dev.banyan.cli.bench;

import dev.banyan.reduce.AlgorithmChoice;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.Config;
import dev.banyan.reduce.cuda.CudaBackend;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code banyan selftest}: whether every kind of collective is right on a backend. */
@Command(
        name = "selftest",
        description = {
            "Run every collective, type, operation and algorithm at awkward sizes, in and out of place, and check every",
            "element against a 64-bit reference."
        },
        footer = {
            "",
            "Examples:",
            "  banyan selftest --backend cuda",
            "  banyan selftest --backend cuda --devices 0,0,0,0",
            "  banyan selftest --backend host --devices 0,1,2"
        })
public final class SelftestCommand implements Runnable {
    private static final int MOST_RANKS = 16;
    private static final int SHOWN_FAILURES = 20;

    @Spec
    private CommandSpec spec = CommandSpec.create(); // replaced by picocli

    @Option(
            names = "--backend",
            paramLabel = "NAME",
            converter = SelftestBackend.Converter.class,
            description = "host, virtual devices in host memory, or cuda, GPUs (default: cuda).")
    private SelftestBackend backend = SelftestBackend.CUDA;

    @Option(
            names = "--devices",
            paramLabel = "LIST",
            split = ",",
            description = "The GPU of each rank; one may have several ranks, e.g. 0,0,0,0 (default: every GPU once; of"
                    + " the host, 8 virtual ones).")
    private int @Nullable [] devices;

    @Override
    public void run() {
        int[] ranks = devices == null ? allDevices() : devices;
        if (ranks.length == 0 || ranks.length > MOST_RANKS) {
            throw new ParameterException(
                    spec.commandLine(), ranks.length + " devices; the test takes 1 to " + MOST_RANKS + " ranks");
        }
        // Which machine it is makes no difference to what is right; this one's links make trees of every kind.
        Machine machine = Presets.find(ranks.length > 8 ? "dgx-2" : "p3.16xlarge")
                .orElseThrow()
                .subset(IntStream.range(0, ranks.length).toArray());
        PrintWriter out = spec.commandLine().getOut();
        out.println("# " + (backend == SelftestBackend.HOST ? "host, " + ranks.length + " virtual devices"
                : "cuda, ranks on devices " + Arrays.toString(ranks)));
        long passed = 0;
        long failed = 0;
        for (AlgorithmChoice algorithm : AlgorithmChoice.values()) {
            if (algorithm == AlgorithmChoice.AUTO) {
                continue;
            }
            Config config = Config.builder().algorithm(algorithm).load();
            try (Communicator communicator = open(machine, config, ranks)) {
                Selftest test = new Selftest(communicator, algorithm);
                test.run();
                passed += test.passed();
                failed += test.failures().size();
                out.println(algorithm.label() + ": " + test.passed() + " passed, " + test.failures().size() + " failed");
                List<String> shown = test.failures().stream().limit(SHOWN_FAILURES).toList();
                shown.forEach(failure -> out.println("  " + failure));
                if (test.failures().size() > shown.size()) {
                    out.println("  and " + (test.failures().size() - shown.size()) + " more");
                }
                out.flush();
            }
        }
        out.println("# " + passed + " passed, " + failed + " failed");
        if (failed > 0) {
            throw new IllegalStateException(failed + (failed == 1 ? " case is" : " cases are")
                    + " not what the 64-bit reference says");
        }
    }

    private int[] allDevices() {
        return IntStream.range(0, backend == SelftestBackend.HOST ? 8 : Math.min(CudaBackend.count(), MOST_RANKS))
                .toArray();
    }

    private Communicator open(Machine machine, Config config, int[] ranks) {
        return switch (backend) {
            case HOST -> Communicator.create(machine, config);
            case CUDA -> Communicator.onGpus(machine, config, ranks);
        };
    }
}
