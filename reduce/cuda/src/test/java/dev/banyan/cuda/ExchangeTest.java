package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.emulator.EmulatedGpus;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.stream.IntStream;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Collectives over memory that is open to all emulated GPUs. */
class ExchangeTest {
    /** Bytes of which two ranks take two blocks each. */
    private static final int SEVERAL_BLOCKS = 20 << 10;
    /** Bytes that take a block several slices in the stage. */
    private static final int SEVERAL_SLICES = 5 << 10;

    private final CudaEmulator emulator = EmulatedProcess.begin();
    private long interleaved;
    /** True if buffers are like those of several processes. */
    private boolean together;
    /** True if some of them are not. */
    private boolean mixed;
    /** Bytes of the first call of two ranks in other orders. */
    private int length = SEVERAL_BLOCKS;

    @AfterEach
    void nothingWentWrongUnseen() {
        assertThat(emulator.problems()).isEmpty();
        assertThat(emulator.count("allocations")).isZero();
    }

    private ExchangeGpus gpus(int ranks, AlgorithmChoice algorithm, ProgramSizes sizes) {
        return gpus(ExchangeGpus.apart(ranks), algorithm, sizes);
    }

    /** @param ofRanks the GPU of each rank */
    private ExchangeGpus gpus(int[] ofRanks, AlgorithmChoice algorithm, ProgramSizes sizes) {
        emulator.tell("devices " + ofRanks.length + " switched");
        return together
                ? ExchangeGpus.together(ofRanks, algorithm, sizes)
                : ExchangeGpus.of(ofRanks, algorithm, sizes, FaultClock.STOPPED);
    }

    private HostComparison comparison(SplittableRandom random) {
        HostComparison comparison = new HostComparison(random);
        return mixed ? comparison.mixed() : together ? comparison.together() : comparison;
    }

    private long exchanges() {
        return emulator.count("kernels banyan_exchange");
    }

    /** All collectives and types, in and out of place, aligned and not. */
    @ParameterizedTest
    @CsvSource({"2, false, false", "3, true, false", "3, true, true"})
    void exchangesGiveTheBitsOfTheHost(int ranks, boolean together, boolean mixed) {
        this.together = together;
        this.mixed = mixed;
        HostComparison comparison = comparison(new SplittableRandom(ranks));
        try (ExchangeGpus gpus = gpus(ranks, AlgorithmChoice.PACKING, ExchangeGpus.SIZES)) {
            int turn = ranks;
            long calls = 0;
            for (Collective collective : Collective.values()) {
                for (DataType type : DataType.values()) {
                    ReduceOp op = collective.reduces() ? ReduceOp.values()[turn % 5] : ReduceOp.SUM;
                    op = op == ReduceOp.AVG && !type.isFloating() ? ReduceOp.SUM : op;
                    long count = new long[] {1, 17, 260, 1031, 4099}[turn % 5];
                    long shift = turn % 3 == 0 ? type.bytes() : 0;
                    comparison.compare(gpus.host(), gpus.cuda(), collective, type, op, turn % 2 == 0, count, shift);
                    // By packing, data of one root goes over other ranks.
                    calls += collective.hasRoot() ? 0 : 1;
                    turn++;
                }
            }
            assertThat(exchanges()).isGreaterThanOrEqualTo(calls * ranks);
        }
    }

    /** All collectives, types and operations by each algorithm that makes exchanges. */
    @Tag("soak")
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5, 6, 7, 8, 16})
    void everyKindOfExchangeGivesTheBitsOfTheHost(int ranks) {
        compareKinds(ranks);
    }

    @Tag("soak")
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 8, 16})
    void everyKindOfExchangeInJointMemoryGivesTheBitsOfTheHost(int ranks) {
        together = true;
        compareKinds(ranks);
        mixed = true;
        compareKinds(ranks);
    }

    private void compareKinds(int ranks) {
        HostComparison comparison = comparison(new SplittableRandom(ranks));
        for (AlgorithmChoice algorithm : RandomChoices.EXCHANGING_ALGORITHMS) {
            EmulatedProcess.beginAnother(emulator);
            try (ExchangeGpus gpus = gpus(ranks, algorithm, ExchangeGpus.SIZES)) {
                comparison.compareKinds(gpus.host(), gpus.cuda(), gpus.cuda(), ranks);
                assertThat(exchanges()).as("%s", algorithm).isPositive();
            }
        }
    }

    /** Each two of an algorithm with some shared GPUs, a collective, a type, an operation, a length, an alignment. */
    @Test
    void exchangesOfRanksThatShareGpusGiveTheBitsOfTheHost() {
        compareShared(List.of(new int[] {0, 0}, new int[] {1, 0, 1}, new int[] {0, 1, 2, 3, 0, 1, 2, 3}, new int[5]));
    }

    @Test
    void exchangesInJointMemoryOfSharedGpusGiveTheBitsOfTheHost() {
        together = true;
        List<int[]> all = List.of(new int[] {0, 0}, new int[] {1, 0, 1}, new int[] {0, 1, 2, 0});
        compareShared(all);
        mixed = true;
        compareShared(all);
    }

    private void compareShared(List<int[]> all) {
        for (int k = 0; k < all.size(); k++) {
            EmulatedProcess.beginAnother(emulator);
            int[] ofRanks = all.get(k);
            List<AlgorithmChoice> algorithms = RandomChoices.EXCHANGING_ALGORITHMS;
            try (ExchangeGpus gpus = gpus(ofRanks, algorithms.get(k % algorithms.size()), ExchangeGpus.SIZES)) {
                HostComparison comparison = comparison(new SplittableRandom(k));
                comparison.comparePairs(gpus.host(), gpus.cuda(), gpus.cuda(), k, all.size());
                assertThat(exchanges()).as("%s", gpus.ofRanks()).isPositive();
            }
        }
    }

    /** All collectives, types and operations by each algorithm that makes exchanges. */
    @Tag("soak")
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5, 6, 7, 8, 16})
    void everyKindOfExchangeOfSharedGpusGivesTheBitsOfTheHost(int ranks) {
        SplittableRandom random = new SplittableRandom(ranks);
        HostComparison comparison = new HostComparison(random);
        for (AlgorithmChoice algorithm : RandomChoices.EXCHANGING_ALGORITHMS) {
            EmulatedProcess.beginAnother(emulator);
            try (ExchangeGpus gpus = gpus(ExchangeGpus.shared(ranks, random), algorithm, ExchangeGpus.SIZES)) {
                comparison.compareKinds(gpus.host(), gpus.cuda(), gpus.cuda(), ranks);
                assertThat(exchanges()).as("%s, %s", algorithm, gpus.ofRanks()).isPositive();
            }
        }
    }

    @Test
    @Tag("soak")
    void sixteenRanksGiveTheBitsOfTheHost() {
        compareSizes(16, AlgorithmChoice.PACKING);
    }

    /** In one-shot each rank sums up everything, where that overwrites no input. */
    @Test
    void everyRankMaySumUpAll() {
        compareSizes(4, AlgorithmChoice.ONE_SHOT);
    }

    private void compareSizes(int ranks, AlgorithmChoice algorithm) {
        HostComparison comparison = new HostComparison(new SplittableRandom(ranks));
        try (ExchangeGpus gpus = gpus(ranks, algorithm, ProgramSizes.DEFAULT)) {
            // Lines up to 64 KiB, and a word, an element or a byte more.
            for (long count : new long[] {16_384, 16_385, 16_388, 40_003}) {
                comparison.compare(
                        gpus.host(), gpus.cuda(), Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, false, count, 0);
                comparison.compare(
                        gpus.host(), gpus.cuda(), Collective.ALL_REDUCE, DataType.BF16, ReduceOp.AVG, false, count, 0);
            }
            assertThat(exchanges()).isEqualTo(4L * ranks);
        }
    }

    @Test
    @Tag("soak")
    void longArraysGiveTheBitsOfTheHost() {
        HostComparison comparison = new HostComparison(new SplittableRandom(1));
        try (ExchangeGpus gpus = gpus(2, AlgorithmChoice.PACKING, ProgramSizes.DEFAULT)) {
            long length = 32 << 20;
            for (long count : new long[] {length - 1, length, length + 1}) {
                comparison.compare(
                        gpus.host(), gpus.cuda(), Collective.ALL_REDUCE, DataType.U8, ReduceOp.MAX, true, count, 0);
            }
            assertThat(exchanges()).isEqualTo(3 * 2);
        }
    }

    @Test
    void buffersOfOthersGoBySlots() {
        try (ExchangeGpus gpus = gpus(4, AlgorithmChoice.PACKING, ExchangeGpus.SIZES)) {
            Communicator cuda = gpus.cuda();
            List<MemorySegment> own = buffers(cuda, 4);
            cuda.run(CollectiveCall.allReduce(own, 1000, DataType.F32, ReduceOp.SUM));
            assertThat(exchanges()).isEqualTo(4);
            List<MemorySegment> others = new ArrayList<>(own);
            EmulatedGpus.enter(0);
            DeviceAddress address = new DeviceAddress();
            EmulatedGpus.ok(JCudaDriver.cuMemAlloc(address, 4000));
            others.set(0, CudaBackend.memory(address.value(), 4000));
            cuda.run(CollectiveCall.allReduce(others, 1000, DataType.F32, ReduceOp.SUM));
            EmulatedGpus.ok(JCudaDriver.cuMemFree(address));
            assertThat(exchanges()).isEqualTo(4);
            assertThat(emulator.count("kernels banyan_program")).isEqualTo(4);
        }
    }

    /** A block has the same part in all calls of a launch, of which each has another number of blocks. */
    @Test
    void callsOfSharedGpusThatStartTogetherHaveNoRace() {
        HostComparison comparison = new HostComparison(new SplittableRandom(1));
        try (ExchangeGpus gpus = gpus(new int[] {0, 1, 0}, AlgorithmChoice.PACKING, ExchangeGpus.SIZES)) {
            for (int seed = 1; seed < 3; seed++) {
                emulator.tell("interleave " + seed);
                comparison.compareTogether(gpus.host(), gpus.cuda(), 400, 9_000, 1000);
                emulator.tell("interleave 0");
                assertThat(exchanges()).isEqualTo(2L * seed);
                assertThat(emulator.count("races")).as("seed %d", seed).isZero();
            }
        }
    }

    /** Blocks of all ranks of a GPU wait for each other, so that there are no more than run at once. */
    @Test
    void blocksOfAllRanksRunAtOnce() {
        emulator.tell("devices 1 switched", "multiprocessors all 7");
        HostComparison comparison = new HostComparison(new SplittableRandom(1));
        try (ExchangeGpus gpus =
                ExchangeGpus.of(new int[3], AlgorithmChoice.PACKING, ExchangeGpus.SIZES, FaultClock.STOPPED)) {
            comparison.compare(
                    gpus.host(), gpus.cuda(), Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, false, 50_000, 0);
            assertThat(exchanges()).isEqualTo(1);
        }
    }

    private static List<MemorySegment> buffers(Communicator cuda, int ranks) {
        return IntStream.range(0, ranks)
                .mapToObj(rank -> cuda.allocate(rank, 4000))
                .toList();
    }

    /** Blocks without a part in the last call meet, too, before what follows in the callers' streams. */
    @Test
    void callsThatStartTogetherInStreamsHaveNoRace() {
        try (ExchangeGpus gpus = gpus(2, AlgorithmChoice.PACKING, ExchangeGpus.SIZES)) {
            HostComparison comparison = comparison(new SplittableRandom(1)).in(gpus.streams(emulator));
            for (int seed = 1; seed <= 2; seed++) {
                emulator.tell("interleave " + seed);
                comparison.compareTogether(gpus.host(), gpus.cuda(), 500, 5_000, 400);
                emulator.tell("interleave 0");
                assertThat(emulator.count("races")).as("seed %d", seed).isZero();
            }
            assertThat(exchanges()).isEqualTo(2 * 2 * 2L);
        }
    }

    @Test
    void callsThatStartTogetherAreOneLaunch() {
        try (ExchangeGpus gpus = gpus(4, AlgorithmChoice.PACKING, ExchangeGpus.SIZES)) {
            Communicator cuda = gpus.cuda();
            List<CollectiveCall> calls = new ArrayList<>();
            List<List<MemorySegment>> all = new ArrayList<>();
            for (int call = 0; call < 3; call++) {
                List<MemorySegment> buffers = buffers(cuda, 4);
                for (MemorySegment buffer : buffers) {
                    cuda.copyToDevice(buffer, filled(call + 1));
                }
                all.add(buffers);
                calls.add(CollectiveCall.allReduce(buffers, 250 << call, DataType.F32, ReduceOp.SUM));
            }
            cuda.runAll(calls);
            assertThat(exchanges()).isEqualTo(4);
            for (int call = 0; call < 3; call++) {
                for (MemorySegment buffer : all.get(call)) {
                    MemorySegment got = MemorySegment.ofArray(new float[1000]);
                    cuda.copyToHost(buffer, got);
                    MemorySegment expected = filled(call + 1);
                    for (int i = 0; i < 250 << call; i++) {
                        expected.setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, 4f * (call + 1));
                    }
                    assertThat(got.mismatch(expected)).isEqualTo(-1);
                }
            }
        }
    }

    private static MemorySegment filled(float value) {
        float[] values = new float[1000];
        Arrays.fill(values, value);
        return MemorySegment.ofArray(values);
    }

    @Test
    void interleavingsHaveNoRace() {
        interleave(0, 10, (ranks, _) -> ExchangeGpus.apart(ranks));
    }

    @Test
    void interleavingsOfSharedGpusHaveNoRace() {
        interleave(20, 10, ExchangeGpus::shared);
    }

    @Test
    void interleavingsInJointMemoryHaveNoRace() {
        together = true;
        interleave(30, 10, (ranks, _) -> ExchangeGpus.apart(ranks));
    }

    @Test
    void interleavingsThroughTheStageHaveNoRace() {
        together = true;
        mixed = true;
        length = SEVERAL_SLICES;
        interleave(40, 10, (ranks, _) -> ExchangeGpus.apart(ranks));
    }

    @Test
    @Tag("soak")
    void manyInterleavingsThroughTheStageHaveNoRace() {
        together = true;
        mixed = true;
        length = SEVERAL_SLICES;
        interleave(50_000, 1500, (ranks, _) -> ExchangeGpus.apart(ranks));
        length = SEVERAL_BLOCKS;
        interleave(57_000, 10, (ranks, _) -> ExchangeGpus.apart(ranks));
        interleave(60_000, 490, ExchangeGpus::shared);
    }

    @Test
    @Tag("soak")
    void manyInterleavingsInJointMemoryHaveNoRace() {
        together = true;
        interleave(30_000, 1500, (ranks, _) -> ExchangeGpus.apart(ranks));
        interleave(40_000, 500, ExchangeGpus::shared);
    }

    @Test
    @Tag("soak")
    void manyInterleavingsHaveNoRace() {
        interleave(1000, 2500, (ranks, _) -> ExchangeGpus.apart(ranks));
    }

    @Test
    @Tag("soak")
    void manyInterleavingsOfSharedGpusHaveNoRace() {
        interleave(20_000, 1500, ExchangeGpus::shared);
    }

    /** @param ofRanks returns the GPU of each of some ranks */
    private void interleave(long first, int calls, BiFunction<Integer, SplittableRandom, int[]> ofRanks) {
        for (long seed = first; seed < first + calls; seed += 10) {
            SplittableRandom random = new SplittableRandom(seed);
            EmulatedProcess.beginAnother(emulator);
            HostComparison comparison = comparison(random);
            AlgorithmChoice algorithm = RandomChoices.any(RandomChoices.EXCHANGING_ALGORITHMS, random);
            int ranks = seed == first ? 2 : random.nextInt(2, 9);
            try (ExchangeGpus gpus = gpus(ofRanks.apply(ranks, random), algorithm, ExchangeGpus.SIZES)) {
                HostComparison between = comparison.in(gpus.streams(emulator));
                for (int call = 0; call < 10; call++) {
                    emulator.tell("interleave " + (1 + random.nextInt(1 << 30)));
                    Collective collective = mixed && call == 0
                            ? Collective.ALL_REDUCE
                            : RandomChoices.any(List.of(Collective.values()), random);
                    DataType type = RandomChoices.any(List.of(DataType.values()), random);
                    ReduceOp op = collective.reduces() && type.isFloating()
                            ? RandomChoices.any(List.of(ReduceOp.values()), random)
                            : ReduceOp.SUM;
                    between.compare(
                            gpus.host(),
                            gpus.cuda(),
                            collective,
                            type,
                            op,
                            random.nextBoolean(),
                            call == 0 && ranks == 2 ? length / type.bytes() : 1 + random.nextInt(160),
                            random.nextBoolean() ? type.bytes() : 0);
                    assertThat(emulator.problems()).as("seed %d", seed).isEmpty();
                    assertThat(emulator.count("races")).as("seed %d", seed).isZero();
                }
                interleaved += exchanges();
                emulator.tell("interleave 0");
            }
        }
        assertThat(interleaved).isPositive();
    }

    /** A flag that gets lost: the kernel that waits for it ends when that is asked for, and names the rank. */
    @ParameterizedTest
    @CsvSource({
        "1, false, false, its last store",
        "3, false, false, its last store",
        "3, true, false, its last store",
        "3, true, true, its last store of a slice"
    })
    void aRankThatDoesNotComeIsNamed(int number, boolean together, boolean isStaged, String where) {
        this.together = together;
        emulator.tell("workers 1");
        int[] ofRanks = IntStream.range(0, 3).map(rank -> rank % number).toArray();
        try (ExchangeGpus gpus = gpus(ofRanks, AlgorithmChoice.PACKING, ExchangeGpus.SIZES)) {
            Executable call = gpus.backend()
                    .prepare(
                            new StarAlgorithm(3)
                                    .schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, 1000, 4, true, 4000)),
                            DataType.F32,
                            ReduceOp.SUM);
            MemorySegment[] buffers =
                    (isStaged ? buffers(gpus.cuda(), 3) : gpus.cuda().allocateAll(4000)).toArray(MemorySegment[]::new);
            // The last of 3 x 3 flags of the last barrier: a direct call has two, one of two slices five.
            emulator.tell("lose-flag " + 9 * (isStaged ? 5 : 2));
            CompletableFuture<Void> running = CompletableFuture.runAsync(() -> call.run(buffers, buffers));
            while (emulator.count("faults") == 0 || !running.isDone()) {
                if (emulator.count("faults") > 0) {
                    call.abort();
                }
                Thread.onSpinWait();
            }
            assertThatThrownBy(running::join)
                    .hasCauseInstanceOf(CollectiveTimeoutException.class)
                    .hasMessageMatching(".* waited in block \\d for rank \\d at rank \\d behind " + where + ".*");
        }
    }
}
