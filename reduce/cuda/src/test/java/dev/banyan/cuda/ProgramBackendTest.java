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
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Device programs on emulated GPUs give what the host backend gives. */
class ProgramBackendTest {
    private static final Duration PATIENCE = FaultClock.TIMEOUT;
    private static final long LIMIT = 64 << 20;
    /** Lines up to 64 KiB of data. */
    private static final Tuning LINES = tuning(ProgramSizes.DEFAULT);
    /** Plain data in short slices, few slots, and so few blocks that lanes share them. */
    private static final Tuning SLICES = tuning(new ProgramSizes(0, 512, 2, 6));

    private final CudaEmulator emulator = EmulatedProcess.begin();
    private final SplittableRandom random = new SplittableRandom(7);
    private final HostComparison comparison = new HostComparison(random);

    private static Tuning tuning(ProgramSizes sizes) {
        return new Tuning(
                Moves.DEFAULT, GraphCache.MOST_NODES, FaultClock.STOPPED, false, ExecutorChoice.AUTO, sizes, 1, 3);
    }

    @AfterEach
    void nothingWentWrongUnseen() {
        assertThat(emulator.problems()).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(
            value = AlgorithmChoice.class,
            names = {"AUTO", "NCCL"},
            mode = EnumSource.Mode.EXCLUDE)
    void kindsOfCallsGiveTheBitsOfTheHost(AlgorithmChoice algorithm) {
        run(
                algorithm,
                (host, first, second) -> comparison.comparePairs(
                        host,
                        first,
                        second,
                        RandomChoices.ALGORITHMS.indexOf(algorithm),
                        RandomChoices.ALGORITHMS.size()));
    }

    @ParameterizedTest
    @Tag("soak")
    @EnumSource(
            value = AlgorithmChoice.class,
            names = {"AUTO", "NCCL"},
            mode = EnumSource.Mode.EXCLUDE)
    void everyKindOfCallGivesTheBitsOfTheHost(AlgorithmChoice algorithm) {
        run(algorithm, (host, first, second) -> comparison.compareKinds(host, first, second, algorithm.ordinal()));
    }

    /** Compares calls on the host and on two communicators on GPUs. */
    private interface Comparing {
        void run(Communicator host, Communicator first, Communicator second);
    }

    private void run(AlgorithmChoice algorithm, Comparing comparing) {
        // NVSwitches, as not all pairs of a p3.16xlarge reach each other.
        emulator.tell("devices 8 switched");
        Machine machine = Presets.find("dgx-a100").orElseThrow();
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                .set(HostBackend.THREADS, 1)
                .build();
        int[] devices = IntStream.range(0, 8).toArray();
        try (CudaBackend lines = new CudaBackend(devices, PATIENCE, PeerRule.ALL, LIMIT, LINES);
                CudaBackend slices = new CudaBackend(devices, PATIENCE, PeerRule.ALL, LIMIT, SLICES);
                Communicator host = Communicator.onHost(machine, config);
                Communicator first = Communicator.create(machine, config, lines);
                Communicator second = Communicator.create(machine, config, slices)) {
            comparing.run(host, first, second);
            // Means of integers run as graphs.
            comparison.compare(host, first, Collective.ALL_REDUCE, DataType.I32, ReduceOp.AVG, false, 257, 0);
        }
        assertThat(emulator.count("graph launches")).isPositive();
    }

    @Test
    void ranksMayShareDevices() {
        Machine machine = Presets.find("p3.16xlarge").orElseThrow().subset(0, 1, 2, 3);
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.MULTI_TREE))
                .set(HostBackend.THREADS, 1)
                .build();
        for (Tuning tuning : new Tuning[] {LINES, SLICES}) {
            try (CudaBackend backend = new CudaBackend(
                            new int[] {0, 0, 1, 0}, PATIENCE, PeerRule.ALL, LIMIT, tuning.with(ExecutorChoice.KERNEL));
                    Communicator host = Communicator.onHost(machine, config);
                    Communicator cuda = Communicator.create(machine, config, backend)) {
                for (Collective collective : Collective.values()) {
                    comparison.compare(host, cuda, collective, DataType.BF16, ReduceOp.AVG, false, 10_003, 2);
                }
            }
        }
        assertThat(emulator.count("graph launches")).isZero();
    }
}
