package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A process that joins other ones with ranks on GPUs, once for each case. A case is what it does, the number of all
 * ranks, the devices of its own, an algorithm, how often, and the executor, separated by colons. A case may also be a
 * process and a function of the driver, "1 cuMemMap", of which the call of that number fails there, so that the switch
 * takes no part. The program prints a line after each call that is a sum, and one that says how the case ended.
 */
final class JoinedGpuProgram {
    private static final int LONGER_THAN_LINES = 1 << 17;
    /** One of so many calls in buffers of one kind is repeated in buffers of both. */
    private static final int MIXED = 3;

    private static final Duration TIMEOUT = Duration.ofHours(1);
    private static final long[] SHORT = {1, 3, 257, 4099, 70_001};
    /** Elements of 4 bytes of calls that are exchanges. */
    private static final int[] LONGER = {20_000, 16_400, 20_001, 17_000};
    /** Programs take up to 64 KiB in lines; a word, an element or a byte more. */
    private static final long[] LONG = {16_388, 70_001, 65_537};

    private JoinedGpuProgram() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] cases) {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        CudaEmulator emulator = CudaEmulator.of(Path.of(System.getenv("LD_LIBRARY_PATH")));
        for (int c = 0; c < cases.length; c++) {
            run(List.of(cases[c].split(":", -1)), System.getenv("BANYAN_RENDEZVOUS") + c, emulator, out);
        }
    }

    private static void run(List<String> words, String rendezvous, CudaEmulator emulator, PrintStream out) {
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
                .set(Algorithms.REPRODUCIBLE, words.get(0).equals("reproducible"))
                .set(Communicator.TIMEOUT, TIMEOUT)
                .build();
        boolean fails = words.get(0).contains(" cu");
        boolean hasSwitch = fails || List.of("multicast", "alone").contains(words.get(0));
        Machine machine = Presets.find(hasSwitch ? "dgx-a100" : "p3.16xlarge").orElseThrow();
        Machine ranked = machine.subset(IntStream.range(0, ranks).toArray());
        int times = Integer.parseInt(words.get(4));
        String end;
        boolean hasJoined = false;
        long before = left(emulator);
        try (Communicator joined = Communicator.joinOnGpus(ranked, config, devices)) {
            hasJoined = true;
            if (fails && words.get(0).startsWith(System.getenv("BANYAN_RANK") + " ")) {
                emulator.tell("fail " + words.get(0).substring(2) + " " + times + " 801");
            }
            switch (fails ? "alone" : words.get(0)) {
                case "compare" ->
                    compare(ranked, config, joined, times, new HostComparison(new SplittableRandom(19)), SHORT);
                case "exchange" -> exchange(ranked, config, joined, times, emulator);
                case "batches" -> batches(joined, times, emulator);
                case "multicast" -> multicast(ranked, config, joined, times, emulator);
                case "allocate" -> allocate(joined, times, out);
                case "exchanged-sum" ->
                    sum(joined, joined.allocateAll(2 * LONGER_THAN_LINES), LONGER_THAN_LINES / 4, times, out);
                case "reproducible" -> reproducible(ranked, config, joined, emulator);
                case "late" -> late(joined, times, emulator, out);
                case "sum" -> sum(joined, times, out);
                case "leave" -> leave(joined, times, out);
                case "differ" -> differ(joined, out);
                case "alone" -> multicast(ranked, config, joined, 0, emulator);
                default -> throw new IllegalArgumentException(words.get(0) + " is no case");
            }
            end = "done";
        } catch (RuntimeException | AssertionError e) {
            end = "failed: " + e.getMessage();
        }
        // A process that has joined leaves memory where another one has failed.
        boolean freesAll = end.equals("done") || !hasJoined;
        out.println(freesAll && left(emulator) > before ? "memory is left: " + end : end);
    }

    /** Returns how much of the driver's memory there is, with open descriptors of it. */
    private static long left(CudaEmulator emulator) {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            long descriptors = open.filter(file -> {
                        try {
                            return Files.readSymbolicLink(file).toString().contains("emulated CUDA");
                        } catch (IOException e) {
                            return false;
                        }
                    })
                    .count();
            return descriptors
                    + Stream.of("allocations", "reservations", "backings", "multicasts")
                            .mapToLong(emulator::count)
                            .sum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Compares as many kinds of calls, in buffers that all processes allocate together, with races in mind. */
    private static void exchange(Machine machine, Config config, Communicator joined, int step, CudaEmulator emulator) {
        long before = exchanges(emulator);
        HostComparison comparison = new HostComparison(new SplittableRandom(23));
        compare(machine, config, joined, step, comparison.together(), LONG);
        assertThat(exchanges(emulator)).isGreaterThan(before);
        compare(machine, config, joined, MIXED * step, comparison.mixed(), LONG);
        assertThat(emulator.count("races")).isZero();
        assertThat(emulator.problems()).isEmpty();
    }

    /**
     * Sums up by calls that start together in some processes and one by one in others, by turns. At first, all make
     * their plans, for which they meet.
     */
    private static void batches(Communicator joined, int rounds, CudaEmulator emulator) {
        int ranks = joined.size();
        for (int round = 0; round < rounds; round++) {
            List<CollectiveCall> calls = new ArrayList<>();
            for (int count : LONGER) {
                List<MemorySegment> buffers = joined.allocateAll(4L * count);
                for (int held = 0; held < buffers.size(); held++) {
                    int[] values = new int[count];
                    Arrays.fill(values, round + joined.firstRank() + held);
                    joined.copyToDevice(buffers.get(held), MemorySegment.ofArray(values));
                }
                calls.add(CollectiveCall.allReduce(buffers, count, DataType.I32, ReduceOp.SUM));
            }
            if (round > 0 && (joined.firstRank() + round) % 2 == 0) {
                joined.runAll(calls);
            } else {
                calls.forEach(joined::run);
            }
            int sum = ranks * round + ranks * (ranks - 1) / 2;
            for (CollectiveCall call : calls) {
                for (MemorySegment buffer : call.outputs()) {
                    int[] values = new int[(int) call.count()];
                    int[] expected = new int[values.length];
                    Arrays.fill(expected, sum);
                    joined.copyToHost(buffer, MemorySegment.ofArray(values));
                    assertThat(values).isEqualTo(expected);
                }
            }
        }
        assertThat(exchanges(emulator)).isPositive();
        assertThat(emulator.count("races")).isZero();
    }

    private static long exchanges(CudaEmulator emulator) {
        return emulator.count("kernels banyan_exchange") + emulator.count("kernels banyan_multicast");
    }

    /**
     * Compares as many kinds of calls in buffers that the switch reaches by one address, and some that it does not.
     *
     * @param step 0 for one call that does without the switch
     */
    private static void multicast(
            Machine machine, Config config, Communicator joined, int step, CudaEmulator emulator) {
        HostComparison exact = HostComparison.exact(new SplittableRandom(31));
        long before = emulator.count("multicast accesses");
        try (Communicator host = Communicator.onHost(machine, config)) {
            // A rest behind the last 16 bytes.
            exact.alike().compare(host, joined, Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, false, 20_001, 0);
            long accesses = emulator.count("multicast accesses") - before;
            if (step == 0) {
                assertThat(accesses).isZero();
            } else if (joined.firstRank() == 0) {
                // By a star, others have nothing to do.
                assertThat(accesses).isPositive();
            }
            exact.together().compare(host, joined, Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, true, 20_001, 0);
            exact.alike().compare(host, joined, Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, true, 20_001, 4);
            assertThat(emulator.count("multicast accesses")).isEqualTo(before + accesses);
        }
        if (step > 0) {
            compare(machine, config, joined, step, exact.alike(), LONG);
            compare(machine, config, joined, MIXED * step, exact.mixed(), LONG);
        }
        assertThat(emulator.count("races")).isZero();
        assertThat(emulator.problems()).isEmpty();
    }

    /** Allocates memory with multicast addresses together, and waits until another process has ended. */
    private static void allocate(Communicator joined, int times, PrintStream out) {
        for (int call = 1; call <= times; call++) {
            List<MemorySegment> _ = joined.allocateAll(2 << 20);
            out.println("call " + call);
        }
        awaitFailure(joined);
    }

    private static void awaitFailure(Communicator joined) {
        while (joined.failure().isEmpty()) {
            Thread.onSpinWait();
        }
        throw new IllegalStateException(joined.failure().orElseThrow());
    }

    /** Compares reproducible sums in one pass. */
    private static void reproducible(Machine machine, Config config, Communicator joined, CudaEmulator emulator) {
        HostComparison comparison = new HostComparison(new SplittableRandom(29));
        long before = emulator.count("kernels banyan_reproducible");
        try (Communicator host = Communicator.onHost(machine, config)) {
            for (DataType type : List.of(DataType.F32, DataType.BF16)) {
                comparison.mixed().compare(host, joined, Collective.ALL_REDUCE, type, ReduceOp.SUM, true, 4097, 0);
                comparison
                        .together()
                        .compare(host, joined, Collective.ALL_REDUCE, type, ReduceOp.SUM, true, 4099, type.bytes());
                comparison.compare(host, joined, Collective.REDUCE_SCATTER, type, ReduceOp.AVG, false, 1000, 0);
            }
        }
        assertThat(emulator.count("kernels banyan_reproducible")).isEqualTo(before + 6);
    }

    /** Compares every {@code step}-th kind of call with the host backend. */
    private static void compare(
            Machine machine, Config config, Communicator joined, int step, HostComparison comparison, long[] counts) {
        int kind = 0;
        int calls = 0;
        try (Communicator host = Communicator.onHost(machine, config)) {
            for (Collective collective : Collective.values()) {
                for (DataType type : DataType.values()) {
                    for (ReduceOp op : collective.reduces() ? ReduceOp.values() : new ReduceOp[] {ReduceOp.SUM}) {
                        for (boolean inPlace : new boolean[] {true, false}) {
                            if (kind++ % step == 0 && (op != ReduceOp.AVG || type.isFloating())) {
                                long count = counts[calls++ % counts.length];
                                long shift = Arrays.equals(counts, LONG) && calls % 2 == 0 ? type.bytes() : 0;
                                // Twice, so that slots and flags are used again.
                                comparison.compare(host, joined, collective, type, op, inPlace, count, 0);
                                comparison.compare(host, joined, collective, type, op, inPlace, count, shift);
                            }
                        }
                    }
                }
            }
        }
    }

    private static void sum(Communicator joined, int times, PrintStream out) {
        sum(joined, List.of(joined.allocate(joined.firstRank(), 1 << 16)), 0, times, out);
    }

    /** @param least elements of each call */
    private static void sum(Communicator joined, List<MemorySegment> buffers, int least, int times, PrintStream out) {
        for (int call = 1; call <= times; call++) {
            joined.allReduce(buffers, least + elements(call), DataType.F32, ReduceOp.SUM);
            out.println("call " + call);
        }
    }

    private static int elements(int call) {
        return 1 + call * 37 % (1 << 14);
    }

    /** Makes a further exchange after some, unless it has rank 0, which never does. Then the call's time is over. */
    private static void late(Communicator joined, int times, CudaEmulator emulator, PrintStream out) {
        List<MemorySegment> buffers = joined.allocateAll(2 * LONGER_THAN_LINES);
        sum(joined, buffers, LONGER_THAN_LINES / 4, times, out);
        if (joined.firstRank() == 0) {
            awaitFailure(joined);
        }
        // Its plan is that of the first call, for which all processes met.
        CompletableFuture<Void> ended = joined.runAsync(
                CollectiveCall.allReduce(buffers, LONGER_THAN_LINES / 4 + elements(1), DataType.F32, ReduceOp.SUM));
        for (long micros = TIMEOUT.toMillis() * 1000; !ended.isDone(); micros += TIMEOUT.toMillis() * 1001) {
            emulator.tell("timer " + micros);
        }
        emulator.tell("timer 0");
        ended.join();
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
