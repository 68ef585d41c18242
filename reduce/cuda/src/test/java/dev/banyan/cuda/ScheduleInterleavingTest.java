package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.internal.graph.GraphCache;
import dev.banyan.cuda.internal.graph.Moves;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Random calls of every algorithm, whose copies and kernels a seed interleaves: the results have the bits of the host
 * backend, and no two accesses to a byte lack an order.
 */
class ScheduleInterleavingTest {
    private static final Duration PATIENCE = FaultClock.TIMEOUT;
    private static final int CALLS_OF_A_MACHINE = 5;
    private static final int MOST_ELEMENTS = 700;
    private static final int EDGES = 20;
    private static final int FLOATS = 1024;

    private final CudaEmulator emulator = EmulatedProcess.begin();

    @Test
    void interleavingsHaveNoRace() {
        interleave(10, 0);
    }

    @Test
    @Tag("soak")
    void tenThousandInterleavingsHaveNoRace() {
        interleave(2000, 1000);
    }

    /** @param seed of the first machine */
    private void interleave(int machines, long seed) {
        for (int machine = 0; machine < machines; machine++) {
            // Each algorithm in turn.
            AlgorithmChoice algorithm = RandomChoices.ALGORITHMS.get(machine % RandomChoices.ALGORITHMS.size());
            try {
                interleaveCallsOfAMachine(algorithm, new SplittableRandom(seed + machine));
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError(algorithm + ", seed " + (seed + machine), e);
            }
        }
    }

    private void interleaveCallsOfAMachine(AlgorithmChoice algorithm, SplittableRandom random) {
        int[] devices = random.ints(0, 8)
                .distinct()
                .limit(random.nextInt(2, 9))
                .sorted()
                .toArray();
        Machine machine = Presets.find("p3.16xlarge").orElseThrow().subset(devices);
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                .set(HostBackend.THREADS, 1)
                .build();
        // Short pieces in few places, so that places are used again; loads from peers, or copies alone.
        Moves moves = new Moves(512, 16, random.nextInt(1, 4), random.nextInt(2) * 4096L);
        Tuning tuning = new Tuning(moves, GraphCache.MOST_NODES, FaultClock.STOPPED, false);
        PeerRule peers = random.nextInt(4) == 0 ? PeerRule.NONE : PeerRule.ALL;
        HostComparison comparison = new HostComparison(random);
        try (CudaBackend backend = new CudaBackend(devices, PATIENCE, peers, 64 << 20, tuning);
                Communicator host = Communicator.onHost(machine, config);
                Communicator cuda = Communicator.create(machine, config, backend)) {
            for (int call = 0; call < CALLS_OF_A_MACHINE; call++) {
                Collective collective = RandomChoices.any(List.of(Collective.values()), random);
                DataType type = RandomChoices.any(List.of(DataType.values()), random);
                ReduceOp op =
                        collective.reduces() ? RandomChoices.any(List.of(ReduceOp.values()), random) : ReduceOp.SUM;
                long count = random.nextInt(MOST_ELEMENTS);
                long shift = random.nextBoolean() ? type.bytes() : 0;
                emulator.tell("interleave " + (1 + random.nextInt(1 << 30)));
                comparison.compare(host, cuda, collective, type, op, random.nextBoolean(), count, shift);
                assertThat(emulator.problems()).isEmpty();
                assertThat(emulator.count("races")).isZero();
            }
            emulator.tell("interleave 0");
        }
    }

    /**
     * Leaves out one edge of the graph at a time. Some edges only keep pieces in their order, and no byte depends on
     * it: then the result is right without them.
     */
    @ParameterizedTest
    @EnumSource(
            value = AlgorithmChoice.class,
            names = {"RING", "MULTI_TREE"})
    void aMissingEdgeIsFound(AlgorithmChoice algorithm) {
        Machine machine = Presets.find("p3.16xlarge").orElseThrow().subset(0, 1, 2, 3);
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                .build();
        Tuning tuning = new Tuning(new Moves(512, 16, 2, 0), GraphCache.MOST_NODES, FaultClock.STOPPED, false);
        int missing = 0;
        int found = 0;
        for (int edge = 1; edge <= EDGES; edge++) {
            EmulatedProcess.beginAnother(emulator);
            boolean right;
            try (CudaBackend backend =
                            new CudaBackend(new int[] {0, 1, 2, 3}, PATIENCE, PeerRule.ALL, 64 << 20, tuning);
                    Communicator cuda = Communicator.create(machine, config, backend)) {
                List<MemorySegment> buffers = new ArrayList<>();
                for (int rank = 0; rank < 4; rank++) {
                    float[] values = new float[FLOATS];
                    Arrays.fill(values, 1 << rank);
                    buffers.add(cuda.allocate(rank, 4 * FLOATS));
                    cuda.copyToDevice(buffers.getLast(), MemorySegment.ofArray(values));
                }
                emulator.tell("lose-edge " + edge, "interleave " + edge);
                cuda.allReduce(buffers, FLOATS, DataType.F32, ReduceOp.SUM);
                emulator.tell("interleave 0");
                right = buffers.stream().allMatch(buffer -> holds(cuda, buffer, 15));
            }
            boolean raced = emulator.count("races") > 0;
            assertThat(raced || right).isTrue();
            if (emulator.count("lost edges") > 0) {
                missing++;
                found += raced ? 1 : 0;
            } else {
                assertThat(raced)
                        .as("a race, though other edges imply edge %d", edge)
                        .isFalse();
            }
        }
        assertThat(missing).isGreaterThan(EDGES / 2);
        assertThat(found).isGreaterThan(missing / 3);
    }

    private static boolean holds(Communicator cuda, MemorySegment buffer, float value) {
        float[] values = new float[FLOATS];
        cuda.copyToHost(buffer, MemorySegment.ofArray(values));
        return IntStream.range(0, FLOATS).allMatch(i -> values[i] == value);
    }
}
