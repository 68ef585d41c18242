package dev.banyan.cuda;

import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.io.PrintStream;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * A process that joins other ones with ranks on GPUs, once for each case. A case is what it does, the number of all
 * ranks, the devices of its own, an algorithm, how often, and the executor, separated by colons. It prints a line after
 * each call that is a sum, and one that tells how the case ended.
 */
final class JoinedGpuProgram {
    private JoinedGpuProgram() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] cases) {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (int c = 0; c < cases.length; c++) {
            run(List.of(cases[c].split(":", -1)), System.getenv("BANYAN_RENDEZVOUS") + c, out);
        }
    }

    private static void run(List<String> words, String rendezvous, PrintStream out) {
        int ranks = Integer.parseInt(words.get(1));
        int[] devices = List.of(words.get(2).split(",", -1)).stream()
                .mapToInt(Integer::parseInt)
                .toArray();
        Config config = Config.builder()
                .set(Planner.ALGORITHM.name(), words.get(3))
                .set("BANYAN_RANK", System.getenv("BANYAN_RANK"))
                .set("BANYAN_WORLD_SIZE", System.getenv("BANYAN_WORLD_SIZE"))
                .set("BANYAN_RENDEZVOUS", rendezvous)
                .set("BANYAN_CUDA_EXECUTOR", words.get(5))
                .set(Communicator.TIMEOUT, Duration.ofHours(1))
                .build();
        Machine machine = Presets.find("p3.16xlarge").orElseThrow();
        Machine ranked = machine.subset(IntStream.range(0, ranks).toArray());
        int times = Integer.parseInt(words.get(4));
        try (Communicator joined = Communicator.joinOnGpus(ranked, config, devices)) {
            switch (words.get(0)) {
                case "compare" -> compare(ranked, config, joined, times);
                case "sum" -> sum(joined, times, out);
                case "leave" -> leave(joined, times, out);
                case "differ" -> differ(joined, out);
                default -> throw new IllegalArgumentException(words.get(0));
            }
            out.println("done");
        } catch (RuntimeException | AssertionError e) {
            out.println("failed: " + e.getMessage());
        }
    }

    /** Compares every {@code step}-th kind of call with the host backend. */
    private static void compare(Machine machine, Config config, Communicator joined, int step) {
        HostComparison comparison = new HostComparison(new SplittableRandom(19));
        long[] counts = {1, 3, 257, 4099, 70_001};
        int kind = 0;
        int calls = 0;
        try (Communicator host = Communicator.onHost(machine, config)) {
            for (Collective collective : Collective.values()) {
                for (DataType type : DataType.values()) {
                    for (ReduceOp op : collective.reduces() ? ReduceOp.values() : new ReduceOp[] {ReduceOp.SUM}) {
                        for (boolean inPlace : new boolean[] {true, false}) {
                            if (kind++ % step == 0 && (op != ReduceOp.AVG || type.isFloating())) {
                                long count = counts[calls++ % counts.length];
                                // Twice, so that slots and flags are used again.
                                comparison.compare(host, joined, collective, type, op, inPlace, count, 0);
                                comparison.compare(host, joined, collective, type, op, inPlace, count, 0);
                            }
                        }
                    }
                }
            }
        }
    }

    private static void sum(Communicator joined, int times, PrintStream out) {
        MemorySegment buffer = joined.allocate(joined.firstRank(), 1 << 16);
        for (int call = 1; call <= times; call++) {
            joined.allReduce(List.of(buffer), 1 + call * 37 % (1 << 14), DataType.F32, ReduceOp.SUM);
            out.println("call " + call);
        }
    }

    /** Makes a further call after some, unless it has rank 0. */
    private static void leave(Communicator joined, int times, PrintStream out) {
        sum(joined, times, out);
        if (joined.firstRank() != 0) {
            sum(joined, 1, out);
        }
    }

    private static void differ(Communicator joined, PrintStream out) {
        MemorySegment buffer = joined.allocate(joined.firstRank(), 1 << 16);
        joined.allReduce(List.of(buffer), 100 + joined.firstRank(), DataType.F32, ReduceOp.SUM);
        out.println("call 1");
    }
}
