package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Collectives that an emulated switch carries out for GPUs, by multicast addresses of their memory. */
class MulticastTest {
    /** Bytes of which three ranks take two blocks each. */
    private static final long SEVERAL_BLOCKS = 27 << 10;

    private static final List<DataType> TYPES_AROUND = List.of(DataType.U8, DataType.BF16, DataType.F32);

    private final CudaEmulator emulator = EmulatedProcess.begin();
    private long interleaved;

    @AfterEach
    void nothingWentWrongUnseen() {
        assertThat(emulator.problems()).isEmpty();
        for (String kind : List.of("allocations", "backings", "multicasts", "reservations")) {
            assertThat(emulator.count(kind)).as(kind).isZero();
        }
    }

    private ExchangeGpus gpus(int ranks, AlgorithmChoice algorithm) {
        return ExchangeGpus.of(emulator, ranks, algorithm, "multicast on");
    }

    private long multicasts() {
        return emulator.count("kernels banyan_multicast");
    }

    /** The switch takes the types and operations that it knows; elements behind the last 16 bytes go without it. */
    @Test
    void theSwitchCombinesAndCopies() {
        int ranks = 3;
        HostComparison comparison = HostComparison.exact(new SplittableRandom(ranks));
        try (ExchangeGpus gpus = gpus(ranks, AlgorithmChoice.PACKING)) {
            long calls = 0;
            int turn = 0;
            for (Collective collective :
                    List.of(Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER)) {
                for (DataType type : DataType.values()) {
                    for (ReduceOp op : collective.reduces() ? ReduceOp.values() : new ReduceOp[] {ReduceOp.SUM}) {
                        boolean adds = op == ReduceOp.SUM || (op == ReduceOp.AVG && type == DataType.F32);
                        boolean knows = switch (type) {
                            case F32, F16, BF16 -> adds;
                            case I32, I64 -> op == ReduceOp.SUM || op == ReduceOp.MIN || op == ReduceOp.MAX;
                            case F64, I8, U8 -> false;
                        };
                        if (collective.reduces() && !knows) {
                            continue;
                        }
                        // A share of each rank in whole words, of which the last ones have more or less.
                        long count = new long[] {128, 512, 1024}[turn % 3] * ranks + turn % 2 * 3L;
                        count = collective == Collective.ALL_REDUCE ? count : count / 16 * 16;
                        comparison.compare(gpus.host(), gpus.cuda(), collective, type, op, turn % 2 == 0, count, 0);
                        calls++;
                        turn++;
                    }
                }
            }
            assertThat(multicasts()).isEqualTo(calls * ranks);
            // Blocks of ranks that begin between words.
            comparison.compare(
                    gpus.host(), gpus.cuda(), Collective.ALL_GATHER, DataType.F32, ReduceOp.SUM, false, 1001, 0);
            assertThat(multicasts()).isEqualTo((calls + 1) * ranks);
        }
    }

    /** All collectives, types and operations by each algorithm that makes exchanges. */
    @Tag("soak")
    @ParameterizedTest
    @ValueSource(ints = {3, 4, 5, 6, 7, 8})
    void everyKindOfCallGivesTheBitsOfTheHost(int ranks) {
        HostComparison comparison = HostComparison.exact(new SplittableRandom(ranks));
        for (AlgorithmChoice algorithm : RandomChoices.EXCHANGING_ALGORITHMS) {
            EmulatedProcess.beginAnother(emulator);
            try (ExchangeGpus gpus = gpus(ranks, algorithm)) {
                comparison.compareKinds(gpus.host(), gpus.cuda(), gpus.cuda(), ranks);
                comparison.ofOthers().compareKinds(gpus.host(), gpus.cuda(), gpus.cuda(), ranks);
                assertThat(multicasts()).as("%s", algorithm).isPositive();
            }
        }
    }

    @Test
    void twoRanksDoWithoutTheSwitch() {
        HostComparison comparison = new HostComparison(new SplittableRandom(1));
        try (ExchangeGpus gpus = gpus(2, AlgorithmChoice.PACKING)) {
            comparison.compare(
                    gpus.host(), gpus.cuda(), Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, false, 1024, 0);
            assertThat(multicasts()).isZero();
            assertThat(emulator.count("kernels banyan_exchange")).isPositive();
        }
    }

    /** The kernels' parameters have no place for the multicast address beside those of 16 ranks. */
    @Test
    @Tag("soak")
    void sixteenRanksDoWithoutTheSwitch() {
        HostComparison comparison = new HostComparison(new SplittableRandom(1));
        try (ExchangeGpus gpus = gpus(16, AlgorithmChoice.PACKING)) {
            comparison.compareKinds(gpus.host(), gpus.cuda(), gpus.cuda(), 0);
            assertThat(multicasts()).isZero();
            assertThat(emulator.count("kernels banyan_exchange")).isPositive();
        }
    }

    /** Sizes around a word, a block's least share, lines, and memory that shares a mapping. */
    @ParameterizedTest
    @ValueSource(longs = {16, 16 << 10, 64 << 10, 1 << 20})
    void sizesAroundThresholdsGiveTheBitsOfTheHost(long bytes) {
        compareAround(bytes, 1, bytes == 64 << 10 ? 1 : TYPES_AROUND.size());
    }

    @Tag("soak")
    @ParameterizedTest
    @ValueSource(longs = {16, 32, 512, 16 << 10, 32 << 10, 64 << 10, 1 << 20, 2 << 20, 32 << 20})
    void sizesAndShiftsAroundThresholdsGiveTheBitsOfTheHost(long bytes) {
        compareAround(bytes, bytes < 1 << 20 ? 17 : 2, 1);
    }

    /** @param step 1 to compare each type in each length, or 3 to compare one type in each length, in turn */
    private void compareAround(long bytes, int shifts, int step) {
        HostComparison comparison = HostComparison.exact(new SplittableRandom(bytes));
        int turn = Long.numberOfTrailingZeros(bytes);
        for (int more : new int[] {-1, 0, 1, 16}) {
            // The next length has another type.
            turn++;
            for (DataType type : TYPES_AROUND) {
                if (turn++ % step != 0) {
                    continue;
                }
                long near = bytes / type.bytes() + more;
                EmulatedProcess.beginAnother(emulator);
                emulator.tell("devices 3 switched", "capability all 9 0", "multicast on");
                long calls = 0;
                try (ExchangeGpus gpus = ExchangeGpus.of(
                        ExchangeGpus.apart(3), AlgorithmChoice.PACKING, ProgramSizes.DEFAULT, FaultClock.STOPPED)) {
                    for (long shift = 0; shift < shifts; shift += type.bytes()) {
                        boolean inPlace = near % 2 == 0;
                        comparison.compare(
                                gpus.host(),
                                gpus.cuda(),
                                Collective.ALL_REDUCE,
                                type,
                                ReduceOp.SUM,
                                inPlace,
                                near,
                                shift);
                        calls += near * type.bytes() > 64 << 10 && shift % 16 == 0 && type != DataType.U8 ? 1 : 0;
                    }
                    assertThat(multicasts()).isEqualTo(3 * calls);
                }
            }
        }
    }

    /** A kernel of any GPU's own takes what the switch does not. */
    @Test
    void otherCallsDoWithoutTheSwitch() {
        HostComparison comparison = new HostComparison(new SplittableRandom(1));
        try (ExchangeGpus gpus = gpus(4, AlgorithmChoice.PACKING)) {
            Communicator host = gpus.host();
            Communicator cuda = gpus.cuda();
            comparison.compare(host, cuda, Collective.ALL_REDUCE, DataType.F64, ReduceOp.SUM, false, 1000, 0);
            comparison.compare(host, cuda, Collective.ALL_REDUCE, DataType.F16, ReduceOp.AVG, false, 1000, 0);
            comparison.compare(host, cuda, Collective.ALL_REDUCE, DataType.U8, ReduceOp.MAX, true, 1000, 0);
            // Buffers that begin elsewhere.
            comparison.compare(host, cuda, Collective.ALL_REDUCE, DataType.I32, ReduceOp.SUM, false, 1000, 4);
            assertThat(multicasts()).isZero();
            // Buffers in other places of the GPUs.
            List<MemorySegment> buffers = new ArrayList<>(IntStream.range(0, 4)
                    .mapToObj(rank -> cuda.allocate(rank, 4000))
                    .toList());
            buffers.set(2, cuda.allocate(2, 4000));
            cuda.run(CollectiveCall.allReduce(buffers, 1000, DataType.F32, ReduceOp.SUM));
            assertThat(multicasts()).isZero();
            assertThat(emulator.count("kernels banyan_exchange")).isEqualTo(5 * 4);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"multicast none", "multicast unready"})
    void aSwitchThatCannotAddIsNoError(String command) {
        HostComparison comparison = new HostComparison(new SplittableRandom(1));
        try (ExchangeGpus gpus = ExchangeGpus.of(emulator, 3, AlgorithmChoice.PACKING, command)) {
            comparison.compare(
                    gpus.host(), gpus.cuda(), Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, false, 1000, 0);
            assertThat(emulator.count("kernels banyan_exchange")).isEqualTo(3);
        }
    }

    /** A multicast object takes each GPU once. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void ranksThatShareGpusDoWithoutTheSwitch(int number) {
        HostComparison comparison = new HostComparison(new SplittableRandom(1));
        int[] ofRanks = IntStream.range(0, 4).map(rank -> rank % number).toArray();
        try (ExchangeGpus gpus = ExchangeGpus.of(emulator, ofRanks, AlgorithmChoice.PACKING, "multicast on")) {
            comparison.compare(
                    gpus.host(), gpus.cuda(), Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, false, 1024, 0);
            assertThat(emulator.count("kernels banyan_exchange")).isEqualTo(number);
            assertThat(emulator.count("calls cuMulticastCreate")).isZero();
        }
    }

    /** Kernels find out by handles whether buffers lie in the same place of all ranks. */
    @Test
    void theSwitchTakesPartInJointMemoryOfOnePlace() {
        HostComparison comparison = HostComparison.exact(new SplittableRandom(1));
        try (ExchangeGpus gpus = ExchangeGpus.multicasting(emulator, 3, AlgorithmChoice.PACKING)) {
            for (Collective collective :
                    List.of(Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER)) {
                for (boolean inPlace : new boolean[] {true, false}) {
                    for (long count : new long[] {48, 3 * 516}) {
                        long before = accesses();
                        compare(comparison.together(), gpus, collective, inPlace, count, 0);
                        compare(comparison.alike(), gpus, collective, inPlace, count, 4);
                        assertThat(accesses()).isEqualTo(before);
                        compare(comparison.alike(), gpus, collective, inPlace, count, 0);
                        assertThat(accesses()).isGreaterThan(before);
                    }
                }
            }
        }
    }

    /** Memory that others allocate goes through a stage, which the switch reaches. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theSwitchTakesPartInTheStage(boolean isJoint) {
        HostComparison exact = HostComparison.exact(new SplittableRandom(1));
        try (ExchangeGpus gpus = isJoint
                ? ExchangeGpus.multicasting(emulator, 3, AlgorithmChoice.PACKING)
                : gpus(3, AlgorithmChoice.PACKING)) {
            HostComparison comparison = isJoint ? exact.mixed() : exact.ofOthers();
            for (Collective collective :
                    List.of(Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER)) {
                for (boolean inPlace : new boolean[] {true, false}) {
                    // The last word, and of an allreduce the last slice, has one element; two blocks.
                    for (long count : new long[] {3, 3 * 161, 3 * 2100}) {
                        long before = accesses();
                        compare(comparison, gpus, collective, inPlace, count, count % 2 * 4);
                        assertThat(accesses()).isGreaterThan(before);
                    }
                }
            }
            assertThat(emulator.count("kernels banyan_program")).isZero();
        }
    }

    /** Calls through the stage and direct ones share a launch, in which each block has one part of the stage. */
    @Test
    void callsThroughTheStageThatStartTogetherHaveNoRace() {
        try (ExchangeGpus gpus = gpus(3, AlgorithmChoice.PACKING)) {
            emulator.tell("interleave 1");
            HostComparison others =
                    HostComparison.exact(new SplittableRandom(1)).ofOthers();
            others.compareTogether(gpus.host(), gpus.cuda(), 400, 100, 4200, 50, 300);
            emulator.tell("interleave 0");
            assertThat(multicasts()).isEqualTo(3);
            assertThat(emulator.count("races")).isZero();
        }
    }

    private static void compare(
            HostComparison comparison,
            ExchangeGpus gpus,
            Collective collective,
            boolean inPlace,
            long count,
            long shift) {
        comparison.compare(gpus.host(), gpus.cuda(), collective, DataType.F32, ReduceOp.SUM, inPlace, count, shift);
    }

    private long accesses() {
        return emulator.count("multicast accesses");
    }

    @Test
    void multicastsHaveNoRace() {
        interleave(0, 10, false);
    }

    @Test
    void multicastsInJointMemoryHaveNoRace() {
        interleave(10, 10, true);
    }

    @Test
    @Tag("soak")
    void manyMulticastsHaveNoRace() {
        interleave(1000, 1000, false);
        interleave(10_000, 1000, true);
    }

    /** @param isJoint whether buffers are like those of several processes, where each call has one place or several */
    private void interleave(long first, int calls, boolean isJoint) {
        for (long seed = first; seed < first + calls; seed += 10) {
            SplittableRandom random = new SplittableRandom(seed);
            EmulatedProcess.beginAnother(emulator);
            HostComparison comparison = HostComparison.exact(random);
            AlgorithmChoice algorithm = RandomChoices.any(RandomChoices.EXCHANGING_ALGORITHMS, random);
            int ranks = seed == first ? 3 : random.nextInt(3, 9);
            try (ExchangeGpus gpus =
                    isJoint ? ExchangeGpus.multicasting(emulator, ranks, algorithm) : gpus(ranks, algorithm)) {
                HostComparison inStreams = comparison.in(gpus.streams(emulator));
                for (int call = 0; call < 10; call++) {
                    emulator.tell("interleave " + (1 + random.nextInt(1 << 30)));
                    Collective collective = RandomChoices.any(List.of(Collective.values()), random);
                    DataType type = RandomChoices.any(
                            List.of(DataType.F32, DataType.F16, DataType.BF16, DataType.I32, DataType.I64), random);
                    boolean whole = random.nextInt(4) > 0;
                    boolean isLong = call == 0 && gpus.cuda().size() == 3;
                    // Every second long call goes through the stage.
                    int direct = isJoint ? 3 : 0;
                    int chosen = isLong ? (seed % 20 == first % 20 ? direct : 1) : random.nextInt(isJoint ? 5 : 2);
                    HostComparison between = switch (chosen) {
                        case 0 -> inStreams;
                        case 1 -> isJoint ? inStreams.mixed() : inStreams.ofOthers();
                        case 2 -> inStreams.together();
                        default -> inStreams.alike();
                    };
                    between.compare(
                            gpus.host(),
                            gpus.cuda(),
                            collective,
                            type,
                            ReduceOp.SUM,
                            random.nextBoolean(),
                            isLong
                                    ? SEVERAL_BLOCKS / type.bytes()
                                    : whole ? 16 * random.nextInt(1, 20) : random.nextInt(1, 320),
                            random.nextInt(8) == 0 ? type.bytes() : 0);
                    assertThat(emulator.problems()).as("seed %d", seed).isEmpty();
                    assertThat(emulator.count("races")).as("seed %d", seed).isZero();
                }
                interleaved += isJoint ? accesses() : multicasts();
                emulator.tell("interleave 0");
            }
        }
        assertThat(interleaved).isPositive();
    }
}
