package dev.banyan.cli.bench;

import dev.banyan.cli.input.DeviceList;
import dev.banyan.reduce.AlgorithmChoice;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.Config;
import dev.banyan.reduce.cuda.CudaDevices;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
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
            converter = DeviceList.Converter.class,
            description = "The GPU of each rank, as CUDA counts them; one may have several ranks, e.g. 0,0,0,0 (default:"
                    + " every GPU once; of the host, 8 virtual ones).")
    private @Nullable DeviceList devices;

    @Override
    public void run() {
        int[] ranks = devices == null ? allDevices() : devices.indices();
        if (ranks.length > MOST_RANKS) {
            throw new ParameterException(
                    spec.commandLine(), ranks.length + " devices; the test takes 1 to " + MOST_RANKS + " ranks");
        }
        // Which machine it is makes no difference to what is right; this one's links make trees of every kind.
        Machine machine = Presets.find(ranks.length > 8 ? "dgx-2" : "p3.16xlarge")
                .orElseThrow()
                .subset(IntStream.range(0, ranks.length).toArray());
        Config config = Config.load();
        switch (backend) {
            case HOST -> run(new HostSite(machine), "host, " + ranks.length + " virtual devices");
            case CUDA -> {
                try (CudaSite site = new CudaSite(machine, machine, ranks, config)) {
                    run(site, "cuda, ranks on devices " + Arrays.toString(ranks));
                }
            }
        }
    }

    private void run(RankSite site, String devices) {
        PrintWriter out = spec.commandLine().getOut();
        out.println("# " + devices);
        out.flush();
        long bytes = Selftest.bytes(site.ranks());
        Memory.require(4 * bytes * site.ranks(), "test fewer ranks with --devices");
        try (Arena arena = Arena.ofShared()) {
            test(site, new DeviceCalls(site.allocate(arena, bytes), site.allocate(arena, bytes)), out);
        }
    }

    private void test(RankSite site, DeviceCalls calls, PrintWriter out) {
        long passed = 0;
        long failed = 0;
        for (AlgorithmChoice algorithm : AlgorithmChoice.values()) {
            if (algorithm == AlgorithmChoice.AUTO) {
                continue;
            }
            try (Communicator communicator = site.open(algorithm)) {
                Selftest test = new Selftest(communicator, algorithm, calls);
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
        return IntStream.range(0, backend == SelftestBackend.HOST ? 8 : Math.min(CudaDevices.count(), MOST_RANKS))
                .toArray();
    }
}
