package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.internal.graph.GraphCache;
import dev.banyan.cuda.internal.graph.Moves;
import dev.banyan.cuda.type.PeerRule;
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
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random calls as device programs, whose accesses to memory a seed interleaves over all GPUs: the results have the
 * bits of the host backend, every kernel ends, and no two accesses to a byte lack an order.
 */
class ProgramInterleavingTest {
    /** By the clock of an interleaving. */
    private static final Duration PATIENCE = FaultClock.TIMEOUT;

    private static final int CALLS_OF_A_MACHINE = 5;
    private static final int MOST_ELEMENTS = 160;

    private final CudaEmulator emulator = EmulatedProcess.begin();

    @Test
    void interleavingsHaveNoRace() {
        interleave(8, 0);
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
        assertThat(emulator.count("graph launches")).isZero();
    }

    private void interleaveCallsOfAMachine(AlgorithmChoice algorithm, SplittableRandom random) {
        int ranks = random.nextInt(2, 7);
        // Ranks may share devices: all blocks of a device are one launch.
        int[] devices = random.nextBoolean()
                ? IntStream.range(0, ranks).toArray()
                : random.ints(ranks, 0, 4).toArray();
        EmulatedProcess.beginAnother(emulator);
        emulator.tell("devices 8 switched");
        Machine machine = Presets.find("dgx-a100")
                .orElseThrow()
                .subset(IntStream.range(0, ranks).toArray());
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                .set(HostBackend.THREADS, 1)
                .build();
        // Lines, or short slices in few slots, so that slots are used again; few blocks, so that lanes share them.
        ProgramSizes sizes =
                new ProgramSizes(random.nextInt(2) * 4096L, 512, 1 << random.nextInt(3), random.nextInt(8, 24));
        Tuning tuning = new Tuning(
                Moves.DEFAULT, GraphCache.MOST_NODES, FaultClock.STOPPED, false, ExecutorChoice.KERNEL, sizes, 1, 1);
        HostComparison comparison = new HostComparison(random);
        try (CudaBackend backend = new CudaBackend(devices, PATIENCE, PeerRule.ALL, 64 << 20, tuning);
                Communicator host = Communicator.onHost(machine, config);
                Communicator cuda = Communicator.create(machine, config, backend)) {
            for (int call = 0; call < CALLS_OF_A_MACHINE; call++) {
                Collective collective = RandomChoices.any(List.of(Collective.values()), random);
                DataType type = RandomChoices.any(List.of(DataType.values()), random);
                ReduceOp op =
                        collective.reduces() ? RandomChoices.any(List.of(ReduceOp.values()), random) : ReduceOp.SUM;
                if (op == ReduceOp.AVG && !type.isFloating()) {
                    op = ReduceOp.MAX;
                }
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
}
