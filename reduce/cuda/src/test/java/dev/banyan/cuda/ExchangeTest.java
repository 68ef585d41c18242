package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.emulator.EmulatedGpus;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import dev.banyan.cuda.internal.graph.GraphCache;
import dev.banyan.cuda.internal.graph.Moves;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Collectives over memory that is open to all emulated GPUs. */
class ExchangeTest {
    private static final Duration PATIENCE = FaultClock.TIMEOUT;
    /** No data in lines; few blocks. */
    private static final ProgramSizes SIZES = new ProgramSizes(0, 512, 2, 8);

    private final CudaEmulator emulator = EmulatedProcess.begin();

    @AfterEach
    void nothingWentWrongUnseen() {
        assertThat(emulator.problems()).isEmpty();
        assertThat(emulator.count("allocations")).isZero();
    }

    private CudaBackend backend(int ranks, ProgramSizes sizes, LongSupplier clock) {
        emulator.tell("devices " + ranks + " switched");
        return new CudaBackend(
                IntStream.range(0, ranks).toArray(),
                PATIENCE,
                PeerRule.ALL,
                64 << 20,
                new Tuning(Moves.DEFAULT, GraphCache.MOST_NODES, clock, false, ExecutorChoice.KERNEL, sizes, 1, 1));
    }

    private static Machine machine(int ranks) {
        Machine machine = Presets.find(ranks > 8 ? "dgx-2" : "dgx-a100").orElseThrow();
        return machine.subset(IntStream.range(0, ranks).toArray());
    }

    private static Config config(AlgorithmChoice algorithm) {
        return Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                .set(HostBackend.THREADS, 1)
                .build();
    }

    private long exchanges() {
        return emulator.count("kernels banyan_exchange");
    }

    /** All collectives, types and operations, in and out of place, aligned and not. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void exchangesGiveTheBitsOfTheHost(int ranks) {
        compareKinds(ranks);
    }

    @Tag("soak")
    @ParameterizedTest
    @ValueSource(ints = {4, 5, 6, 7, 8})
    void exchangesOfManyRanksGiveTheBitsOfTheHost(int ranks) {
        compareKinds(ranks);
    }

    private void compareKinds(int ranks) {
        HostComparison comparison = new HostComparison(new SplittableRandom(ranks));
        try (CudaBackend backend = backend(ranks, SIZES, FaultClock.STOPPED);
                Communicator host = Communicator.onHost(machine(ranks), config(AlgorithmChoice.PACKING));
                Communicator cuda = Communicator.create(machine(ranks), config(AlgorithmChoice.PACKING), backend)) {
            int turn = ranks;
            long calls = 0;
            for (Collective collective : Collective.values()) {
                for (DataType type : DataType.values()) {
                    ReduceOp op = collective.reduces() ? ReduceOp.values()[turn % 5] : ReduceOp.SUM;
                    op = op == ReduceOp.AVG && !type.isFloating() ? ReduceOp.SUM : op;
                    long count = new long[] {1, 17, 260, 1031, 4099}[turn % 5];
                    long shift = turn % 3 == 0 ? type.bytes() : 0;
                    comparison.compare(host, cuda, collective, type, op, turn % 2 == 0, count, shift);
                    // By packing, data of one root goes over other ranks.
                    calls += collective.hasRoot() ? 0 : 1;
                    turn++;
                }
            }
            assertThat(exchanges()).isGreaterThanOrEqualTo(calls * ranks);
        }
    }

    @Test
    @Tag("soak")
    void sixteenRanksGiveTheBitsOfTheHost() {
        compareSizes(16, AlgorithmChoice.PACKING);
        EmulatedProcess.beginAnother(emulator);
        compareSizes(8, AlgorithmChoice.PACKING);
    }

    /** In one-shot each rank sums up everything, where that overwrites no input. */
    @Test
    void everyRankMaySumUpAll() {
        compareSizes(4, AlgorithmChoice.ONE_SHOT);
    }

    private void compareSizes(int ranks, AlgorithmChoice algorithm) {
        HostComparison comparison = new HostComparison(new SplittableRandom(ranks));
        try (CudaBackend backend = backend(ranks, ProgramSizes.DEFAULT, FaultClock.STOPPED);
                Communicator host = Communicator.onHost(machine(ranks), config(algorithm));
                Communicator cuda = Communicator.create(machine(ranks), config(algorithm), backend)) {
            // Lines up to 64 KiB, and a word, an element or a byte more.
            for (long count : new long[] {16_384, 16_385, 16_388, 40_003}) {
                comparison.compare(host, cuda, Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, false, count, 0);
                comparison.compare(host, cuda, Collective.ALL_REDUCE, DataType.BF16, ReduceOp.AVG, false, count, 0);
            }
            assertThat(exchanges()).isEqualTo(4L * ranks);
        }
    }

    private long multicasts() {
        return emulator.count("kernels banyan_multicast");
    }

    private CudaBackend multicasting(int ranks, String command) {
        emulator.tell("devices " + ranks + " switched");
        emulator.tell("capability all 9 0");
        emulator.tell(command);
        return new CudaBackend(
                IntStream.range(0, ranks).toArray(),
                PATIENCE,
                PeerRule.ALL,
                64 << 20,
                new Tuning(
                        Moves.DEFAULT,
                        GraphCache.MOST_NODES,
                        FaultClock.STOPPED,
                        false,
                        ExecutorChoice.KERNEL,
                        SIZES,
                        1,
                        1));
    }

    /** The switch takes the types and operations that it knows; elements behind the last 16 bytes go without it. */
    @ParameterizedTest
    @ValueSource(ints = {2, 5})
    void theSwitchCombinesAndCopies(int ranks) {
        HostComparison comparison = HostComparison.exact(new SplittableRandom(ranks));
        try (CudaBackend backend = multicasting(ranks, "multicast on");
                Communicator host = Communicator.onHost(machine(ranks), config(AlgorithmChoice.PACKING));
                Communicator cuda = Communicator.create(machine(ranks), config(AlgorithmChoice.PACKING), backend)) {
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
                        long count = new long[] {128, 512, 1024}[turn % 3] * ranks + turn % 2 * 3;
                        count = collective == Collective.ALL_REDUCE ? count : count / 16 * 16;
                        comparison.compare(host, cuda, collective, type, op, turn % 2 == 0, count, 0);
                        calls++;
                        turn++;
                    }
                }
            }
            assertThat(multicasts()).isEqualTo(calls * ranks);
        }
    }

    /** A kernel of any GPU's own takes what the switch does not. */
    @Test
    void otherCallsDoWithoutTheSwitch() {
        HostComparison comparison = new HostComparison(new SplittableRandom(1));
        try (CudaBackend backend = multicasting(4, "multicast on");
                Communicator host = Communicator.onHost(machine(4), config(AlgorithmChoice.PACKING));
                Communicator cuda = Communicator.create(machine(4), config(AlgorithmChoice.PACKING), backend)) {
            comparison.compare(host, cuda, Collective.ALL_REDUCE, DataType.F64, ReduceOp.SUM, false, 1000, 0);
            comparison.compare(host, cuda, Collective.ALL_REDUCE, DataType.F16, ReduceOp.AVG, false, 1000, 0);
            comparison.compare(host, cuda, Collective.ALL_REDUCE, DataType.U8, ReduceOp.MAX, true, 1000, 0);
            // Buffers that begin elsewhere.
            comparison.compare(host, cuda, Collective.ALL_REDUCE, DataType.I32, ReduceOp.SUM, false, 1000, 4);
            assertThat(multicasts()).isZero();
            // Buffers in other places of the GPUs.
            List<MemorySegment> buffers = new ArrayList<>(buffers(cuda, 4));
            buffers.set(2, cuda.allocate(2, 4000));
            cuda.run(CollectiveCall.allReduce(buffers, 1000, DataType.F32, ReduceOp.SUM));
            assertThat(multicasts()).isZero();
            assertThat(exchanges()).isEqualTo(5 * 4);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"multicast none", "multicast unready"})
    void aSwitchThatCannotAddIsNoError(String command) {
        HostComparison comparison = new HostComparison(new SplittableRandom(1));
        try (CudaBackend backend = multicasting(3, command);
                Communicator host = Communicator.onHost(machine(3), config(AlgorithmChoice.PACKING));
                Communicator cuda = Communicator.create(machine(3), config(AlgorithmChoice.PACKING), backend)) {
            comparison.compare(host, cuda, Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, false, 1000, 0);
            assertThat(exchanges()).isEqualTo(3);
        }
    }

    @Test
    void multicastsHaveNoRace() {
        interleaveMulticasts(0, 10);
    }

    @Test
    @Tag("soak")
    @Timeout(value = 1, unit = TimeUnit.HOURS)
    void tenThousandMulticastsHaveNoRace() {
        interleaveMulticasts(1000, 10_000);
    }

    private void interleaveMulticasts(long first, int calls) {
        for (long seed = first; seed < first + calls; seed += 10) {
            SplittableRandom random = new SplittableRandom(seed);
            int ranks = random.nextInt(2, 7);
            EmulatedProcess.beginAnother(emulator);
            HostComparison comparison = HostComparison.exact(random);
            try (CudaBackend backend = multicasting(ranks, "multicast on");
                    Communicator host = Communicator.onHost(machine(ranks), config(AlgorithmChoice.PACKING));
                    Communicator cuda = Communicator.create(machine(ranks), config(AlgorithmChoice.PACKING), backend)) {
                for (int call = 0; call < 10; call++) {
                    Collective collective = RandomChoices.any(
                            List.of(Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER), random);
                    DataType type = RandomChoices.any(
                            List.of(DataType.F32, DataType.F16, DataType.BF16, DataType.I32, DataType.I64), random);
                    emulator.tell("interleave " + (1 + random.nextInt(1 << 30)));
                    long count = 16 * random.nextInt(1, 20);
                    comparison.compare(host, cuda, collective, type, ReduceOp.SUM, random.nextBoolean(), count, 0);
                    assertThat(emulator.problems()).as("seed %d", seed).isEmpty();
                    assertThat(emulator.count("races")).as("seed %d", seed).isZero();
                }
                assertThat(multicasts()).isPositive();
                emulator.tell("interleave 0");
            }
        }
    }

    @Test
    void buffersOfOthersGoBySlots() {
        try (CudaBackend backend = backend(4, SIZES, FaultClock.STOPPED);
                Communicator cuda = Communicator.create(machine(4), config(AlgorithmChoice.PACKING), backend)) {
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

    private static List<MemorySegment> buffers(Communicator cuda, int ranks) {
        return IntStream.range(0, ranks)
                .mapToObj(rank -> cuda.allocate(rank, 4000))
                .toList();
    }

    @Test
    void callsThatStartTogetherAreOneLaunch() {
        try (CudaBackend backend = backend(4, SIZES, FaultClock.STOPPED);
                Communicator cuda = Communicator.create(machine(4), config(AlgorithmChoice.PACKING), backend)) {
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
        interleave(0, 20);
    }

    @Test
    @Tag("soak")
    @Timeout(value = 1, unit = TimeUnit.HOURS)
    void tenThousandInterleavingsHaveNoRace() {
        interleave(1000, 10_000);
    }

    private void interleave(long first, int calls) {
        for (long seed = first; seed < first + calls; seed += 10) {
            SplittableRandom random = new SplittableRandom(seed);
            int ranks = random.nextInt(2, 7);
            EmulatedProcess.beginAnother(emulator);
            HostComparison comparison = new HostComparison(random);
            AlgorithmChoice algorithm = random.nextBoolean() ? AlgorithmChoice.PACKING : AlgorithmChoice.ONE_SHOT;
            try (CudaBackend backend = backend(ranks, SIZES, FaultClock.STOPPED);
                    Communicator host = Communicator.onHost(machine(ranks), config(algorithm));
                    Communicator cuda = Communicator.create(machine(ranks), config(algorithm), backend)) {
                for (int call = 0; call < 10; call++) {
                    Collective collective = RandomChoices.any(List.of(Collective.values()), random);
                    DataType type = RandomChoices.any(List.of(DataType.values()), random);
                    emulator.tell("interleave " + (1 + random.nextInt(1 << 30)));
                    comparison.compare(
                            host,
                            cuda,
                            collective,
                            type,
                            ReduceOp.SUM,
                            random.nextBoolean(),
                            1 + random.nextInt(160),
                            random.nextBoolean() ? type.bytes() : 0);
                    assertThat(emulator.problems()).as("seed %d", seed).isEmpty();
                    assertThat(emulator.count("races")).as("seed %d", seed).isZero();
                }
                assertThat(exchanges()).isPositive();
                emulator.tell("interleave 0");
            }
        }
    }

    /** A flag that gets lost: the kernel that waits for it ends when that is asked for, and names the rank. */
    @Test
    void aRankThatDoesNotComeIsNamed() {
        emulator.tell("workers 1");
        try (CudaBackend backend = backend(3, SIZES, FaultClock.STOPPED);
                Communicator cuda = Communicator.create(machine(3), config(AlgorithmChoice.PACKING), backend)) {
            Executable call = backend.prepare(
                    new StarAlgorithm(3)
                            .schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, 1000, 4, true, 4000)),
                    DataType.F32,
                    ReduceOp.SUM);
            MemorySegment[] buffers = buffers(cuda, 3).toArray(MemorySegment[]::new);
            // The last of 3 x 3 flags of the second barrier.
            emulator.tell("lose-flag 18");
            CompletableFuture<Void> running = CompletableFuture.runAsync(() -> call.run(buffers, buffers));
            while (emulator.count("faults") == 0 || !running.isDone()) {
                if (emulator.count("faults") > 0) {
                    call.abort();
                }
                Thread.onSpinWait();
            }
            assertThatThrownBy(running::join)
                    .hasCauseInstanceOf(CollectiveTimeoutException.class)
                    .hasMessageMatching(".* waited in block \\d for rank \\d at rank \\d behind its last store.*");
        }
    }
}
