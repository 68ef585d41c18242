package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.internal.graph.GraphCache;
import dev.banyan.cuda.internal.graph.Moves;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Calls that are started together are one launch on each device, and give what they give alone. */
class ProgramBatchTest {
    private static final Duration PATIENCE = FaultClock.TIMEOUT;
    private static final int RANKS = 4;
    private static final Machine MACHINE = Presets.find("dgx-a100")
            .orElseThrow()
            .subset(IntStream.range(0, RANKS).toArray());

    private final CudaEmulator emulator = EmulatedProcess.begin();
    private final SplittableRandom random = new SplittableRandom(5);
    private final Arena arena = Arena.ofShared();

    @AfterEach
    void nothingWentWrongUnseen() {
        assertThat(emulator.problems()).isEmpty();
        arena.close();
    }

    private static Config config(AlgorithmChoice algorithm) {
        return Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                .set(HostBackend.THREADS, 1)
                .build();
    }

    private CudaBackend backend(ProgramSizes sizes, long firstFlag) {
        return backend(IntStream.range(0, RANKS).toArray(), sizes, firstFlag);
    }

    private CudaBackend backend(int[] devices, ProgramSizes sizes, long firstFlag) {
        emulator.tell("devices 8 switched");
        return new CudaBackend(
                devices,
                PATIENCE,
                PeerRule.ALL,
                64 << 20,
                new Tuning(
                        Moves.DEFAULT,
                        GraphCache.MOST_NODES,
                        FaultClock.STOPPED,
                        false,
                        ExecutorChoice.KERNEL,
                        sizes,
                        firstFlag,
                        3));
    }

    /** Buffers of the host and of GPUs with equal contents. */
    private record Pair(List<MemorySegment> host, List<MemorySegment> gpus) {}

    private Pair pair(Communicator cuda, long elements) {
        List<MemorySegment> host = new ArrayList<>();
        List<MemorySegment> gpus = new ArrayList<>();
        for (int rank = 0; rank < RANKS; rank++) {
            MemorySegment memory = arena.allocate(4 * elements, 64);
            for (long i = 0; i < elements; i++) {
                memory.setAtIndex(ValueLayout.JAVA_FLOAT, i, random.nextInt(1 << 12) / 8f);
            }
            host.add(memory);
            gpus.add(cuda.allocate(rank, 4 * elements));
            cuda.copyToDevice(gpus.getLast(), memory);
        }
        return new Pair(host, gpus);
    }

    private void assertSame(Communicator cuda, Pair pair) {
        for (int rank = 0; rank < RANKS; rank++) {
            MemorySegment expected = pair.host().get(rank);
            MemorySegment got = arena.allocate(expected.byteSize());
            cuda.copyToHost(pair.gpus().get(rank), got);
            assertThat(got.mismatch(expected)).as("rank %d", rank).isEqualTo(-1);
        }
    }

    private static CollectiveCall allReduce(List<MemorySegment> buffers, ReduceOp op) {
        return CollectiveCall.allReduce(buffers, buffers.getFirst().byteSize() / 4, DataType.F32, op);
    }

    @Test
    void keysOfManyLengthsAreOneLaunch() {
        for (ProgramSizes sizes : List.of(ProgramSizes.DEFAULT, new ProgramSizes(64, 512, 2, 12))) {
            try (CudaBackend backend = backend(sizes, 1);
                    Communicator host = Communicator.onHost(MACHINE, config(AlgorithmChoice.MULTI_TREE));
                    Communicator cuda = Communicator.create(MACHINE, config(AlgorithmChoice.MULTI_TREE), backend)) {
                List<Pair> pairs = IntStream.of(1, 7, 300, 64, 2048, 1, 300)
                        .mapToObj(elements -> pair(cuda, elements))
                        .toList();
                for (int round = 0; round < 2; round++) {
                    long before = emulator.count("kernels banyan_program");
                    cuda.runAll(pairs.stream()
                            .map(pair -> allReduce(pair.gpus(), ReduceOp.SUM))
                            .toList());
                    assertThat(emulator.count("kernels banyan_program") - before)
                            .isEqualTo(RANKS);
                    host.runAll(pairs.stream()
                            .map(pair -> allReduce(pair.host(), ReduceOp.SUM))
                            .toList());
                    pairs.forEach(pair -> assertSame(cuda, pair));
                }
            }
            EmulatedProcess.beginAnother(emulator);
        }
    }

    @Test
    void interleavingsOfBatchesHaveNoRace() {
        interleaveBatches(2);
    }

    @Test
    @Tag("soak")
    void manyInterleavingsOfBatchesHaveNoRace() {
        interleaveBatches(15);
    }

    private void interleaveBatches(int seeds) {
        for (long lines : new long[] {0, 1024}) {
            try (CudaBackend backend = backend(new ProgramSizes(lines, 512, 2, 12), 1);
                    Communicator host = Communicator.onHost(MACHINE, config(AlgorithmChoice.STAR));
                    Communicator cuda = Communicator.create(MACHINE, config(AlgorithmChoice.STAR), backend)) {
                List<Pair> pairs = IntStream.of(1, 70, 150, 2, 300)
                        .mapToObj(elements -> pair(cuda, elements))
                        .toList();
                for (int seed = 1; seed <= seeds; seed++) {
                    emulator.tell("interleave " + seed);
                    cuda.runAll(pairs.stream()
                            .map(pair -> allReduce(pair.gpus(), ReduceOp.MAX))
                            .toList());
                    emulator.tell("interleave 0");
                    host.runAll(pairs.stream()
                            .map(pair -> allReduce(pair.host(), ReduceOp.MAX))
                            .toList());
                    pairs.forEach(pair -> assertSame(cuda, pair));
                    assertThat(emulator.count("races")).isZero();
                }
            }
            EmulatedProcess.beginAnother(emulator);
        }
    }

    /**
     * Launches in flight take turns between two sets of slots for lines; senders do not ask whether these are free
     * where the launch before says so.
     */
    @Test
    void launchesInFlightNeverTakeSlotsThatAreFull() {
        takeSlotsInFlight(3);
    }

    @Test
    @Tag("soak")
    void manyLaunchesInFlightNeverTakeSlotsThatAreFull() {
        takeSlotsInFlight(100);
    }

    private void takeSlotsInFlight(int seeds) {
        List<Collective> collectives =
                List.of(Collective.ALL_REDUCE, Collective.ALL_REDUCE, Collective.BROADCAST, Collective.REDUCE);
        for (int seed = 1; seed <= seeds; seed++) {
            SplittableRandom calls = new SplittableRandom(seed);
            AlgorithmChoice algorithm = calls.nextBoolean() ? AlgorithmChoice.STAR : AlgorithmChoice.SINGLE_TREE;
            try (CudaBackend backend = backend(ProgramSizes.DEFAULT, 1);
                    Communicator host = Communicator.onHost(MACHINE, config(algorithm));
                    Communicator cuda = Communicator.create(MACHINE, config(algorithm), backend)) {
                List<Pair> pairs = IntStream.of(1, 30, 34, 36)
                        .mapToObj(elements -> pair(cuda, elements))
                        .toList();
                emulator.tell("interleave " + seed);
                List<CompletableFuture<Void>> running = new ArrayList<>();
                for (int call = 0; call < 16; call++) {
                    Pair pair = pairs.get(calls.nextInt(pairs.size()));
                    Collective collective = collectives.get(calls.nextInt(collectives.size()));
                    int root = collective.hasRoot() ? calls.nextInt(RANKS) : -1;
                    long count = pair.host().getFirst().byteSize() / 4;
                    host.run(CollectiveCall.of(collective, root, count, DataType.F32, ReduceOp.MAX, pair.host()));
                    running.add(cuda.runAsync(
                            CollectiveCall.of(collective, root, count, DataType.F32, ReduceOp.MAX, pair.gpus())));
                }
                running.forEach(CompletableFuture::join);
                emulator.tell("interleave 0");
                pairs.forEach(pair -> assertSame(cuda, pair));
                assertThat(emulator.count("races")).isZero();
            }
            EmulatedProcess.beginAnother(emulator);
        }
    }

    /** A broadcast of what a reduction gives, in one list: the second waits for the first. */
    @Test
    void callsThatTouchTheSameBufferFollowEachOther() {
        try (CudaBackend backend = backend(new ProgramSizes(0, 512, 2, 12), 1);
                Communicator host = Communicator.onHost(MACHINE, config(AlgorithmChoice.RING));
                Communicator cuda = Communicator.create(MACHINE, config(AlgorithmChoice.RING), backend)) {
            Pair pair = pair(cuda, 5000);
            Pair other = pair(cuda, 100);
            for (boolean onGpus : new boolean[] {false, true}) {
                List<MemorySegment> buffers = onGpus ? pair.gpus() : pair.host();
                List<MemorySegment> others = onGpus ? other.gpus() : other.host();
                (onGpus ? cuda : host)
                        .runAll(List.of(
                                CollectiveCall.of(Collective.REDUCE, 3, 5000, DataType.F32, ReduceOp.SUM, buffers),
                                allReduce(others, ReduceOp.SUM),
                                CollectiveCall.of(Collective.BROADCAST, 3, 5000, DataType.F32, ReduceOp.SUM, buffers),
                                allReduce(others, ReduceOp.MAX)));
            }
            assertSame(cuda, pair);
            assertSame(cuda, other);
            assertThat(emulator.count("kernels banyan_program")).isEqualTo(3 * RANKS);
        }
    }

    /** From call to call of a batch, a block may work for another of the ranks that share its device. */
    @Test
    void ranksThatShareDevicesTakeTurns() {
        shareDevices(1);
    }

    @Test
    @Tag("soak")
    void ranksThatShareDevicesTakeTurnsInManyWays() {
        shareDevices(30);
    }

    private void shareDevices(int seeds) {
        for (long lines : new long[] {0, 4096}) {
            for (int seed = 1; seed <= seeds; seed++) {
                int[] devices = new SplittableRandom(seed).ints(RANKS, 0, 3).toArray();
                try (CudaBackend backend = backend(devices, new ProgramSizes(lines, 512, 2, 12), 1);
                        Communicator host = Communicator.onHost(MACHINE, config(AlgorithmChoice.SINGLE_TREE));
                        Communicator cuda =
                                Communicator.create(MACHINE, config(AlgorithmChoice.SINGLE_TREE), backend)) {
                    List<Pair> pairs = new ArrayList<>();
                    List<CollectiveCall> onHost = new ArrayList<>();
                    List<CollectiveCall> onGpus = new ArrayList<>();
                    for (int root = 0; root < RANKS; root++) {
                        int count = 1 + random.nextInt(300);
                        Collective collective = random.nextBoolean() ? Collective.REDUCE : Collective.BROADCAST;
                        pairs.add(pair(cuda, count));
                        onHost.add(CollectiveCall.of(
                                collective,
                                root,
                                count,
                                DataType.F32,
                                ReduceOp.SUM,
                                pairs.getLast().host()));
                        onGpus.add(CollectiveCall.of(
                                collective,
                                root,
                                count,
                                DataType.F32,
                                ReduceOp.SUM,
                                pairs.getLast().gpus()));
                    }
                    emulator.tell("interleave " + (seed % 3 == 1 ? seed : 0));
                    cuda.runAll(onGpus);
                    cuda.runAll(onGpus);
                    emulator.tell("interleave 0");
                    host.runAll(onHost);
                    host.runAll(onHost);
                    pairs.forEach(pair -> assertSame(cuda, pair));
                    assertThat(emulator.count("races")).isZero();
                }
                EmulatedProcess.beginAnother(emulator);
            }
        }
    }

    /** Buffers that were never seen need no calls of the driver but the launches. */
    @Test
    void aChangedBufferCostsNothing() {
        try (CudaBackend backend = backend(ProgramSizes.DEFAULT, 1);
                Communicator cuda = Communicator.create(MACHINE, config(AlgorithmChoice.STAR), backend)) {
            List<Pair> pairs =
                    IntStream.range(0, 20).mapToObj(_ -> pair(cuda, 64)).toList();
            cuda.run(allReduce(pairs.getFirst().gpus(), ReduceOp.SUM));
            List<String> others = List.of(
                    "cuPointerGetAttribute",
                    "cuMemAlloc_v2",
                    "cuMemHostAlloc",
                    "cuModuleLoadDataEx",
                    "cuMemcpyHtoDAsync_v2",
                    "cuMemcpyDtoHAsync_v2",
                    "cuGraphLaunch",
                    "cuGraphInstantiate",
                    "cuEventCreate");
            long[] before = others.stream()
                    .mapToLong(name -> emulator.count("calls " + name))
                    .toArray();
            long launches = emulator.count("calls cuLaunchKernel");
            pairs.forEach(pair -> cuda.run(allReduce(pair.gpus(), ReduceOp.SUM)));
            assertThat(others.stream()
                            .mapToLong(name -> emulator.count("calls " + name))
                            .toArray())
                    .isEqualTo(before);
            assertThat(emulator.count("calls cuLaunchKernel") - launches).isEqualTo(20 * RANKS);
        }
    }

    /** Flags in lines have 32 bits: behind the end of these all lines are cleared, and counting goes on. */
    @Test
    void flagsMayPassTheEndOfTheirNumbers() {
        try (CudaBackend backend = backend(ProgramSizes.DEFAULT, (1L << 32) - 40);
                Communicator host = Communicator.onHost(MACHINE, config(AlgorithmChoice.RING));
                Communicator cuda = Communicator.create(MACHINE, config(AlgorithmChoice.RING), backend)) {
            for (int round = 0; round < 8; round++) {
                Pair pair = pair(cuda, 100 + round);
                host.run(allReduce(pair.host(), ReduceOp.SUM));
                cuda.run(allReduce(pair.gpus(), ReduceOp.SUM));
                assertSame(cuda, pair);
            }
        }
    }
}
