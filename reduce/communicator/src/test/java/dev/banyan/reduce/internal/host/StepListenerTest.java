package dev.banyan.reduce.internal.host;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.StepListener;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class StepListenerTest {
    private static final int RANKS = 4;
    private static final int COUNT = 100_000;
    private static final Machine MACHINE = Machine.preset("pcie-4");

    private static final class Heard implements StepListener {
        final Queue<Move> moves = new ConcurrentLinkedQueue<>();
        final Queue<Computation> computations = new ConcurrentLinkedQueue<>();

        @Override
        public void moved(Move move) {
            moves.add(move);
        }

        @Override
        public void computed(Computation computation) {
            computations.add(computation);
        }
    }

    /** Any tree, forest, ring or star moves the array n-1 times up and n-1 times down. */
    @ParameterizedTest
    @EnumSource(
            value = AlgorithmChoice.class,
            names = {"SINGLE_TREE", "MULTI_TREE", "PACKING", "RING", "STAR"})
    void anAllReduceMovesWhatItsScheduleMoves(AlgorithmChoice algorithm) {
        Heard heard = new Heard();
        long begin = System.nanoTime();
        try (HostBackend backend = new HostBackend(RANKS, 2, Duration.ofMinutes(15));
                Communicator communicator = Communicator.create(
                        MACHINE,
                        Config.builder()
                                .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                                .build(),
                        backend)) {
            backend.setListener(heard);
            run(communicator);
        }
        long end = System.nanoTime();
        assertThat(heard.moves.stream().mapToLong(StepListener.Move::bytes).sum())
                .isEqualTo(2L * (RANKS - 1) * COUNT * Float.BYTES);
        assertThat(heard.moves).allSatisfy(move -> {
            assertThat(move.from()).isBetween(0, RANKS - 1).isNotEqualTo(move.to());
            assertThat(move.to()).isBetween(0, RANKS - 1);
            assertThat(move.beginNanos() - begin).isNotNegative();
            assertThat(move.endNanos() - move.beginNanos()).isNotNegative();
            assertThat(end - move.endNanos()).isNotNegative();
        });
        assertThat(heard.computations).isNotEmpty();
        assertThat(heard.moves.stream().map(StepListener.Move::run).collect(Collectors.toSet()))
                .hasSize(1);
    }

    @Test
    void copiesAreToldAsTheScheduleHasThem() {
        Heard heard = new Heard();
        try (HostBackend backend = new HostBackend(RANKS, 1, Duration.ofMinutes(15));
                Communicator communicator = Communicator.create(
                        MACHINE,
                        Config.builder()
                                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.RING))
                                .build(),
                        backend)) {
            backend.setListener(heard);
            List<MemorySegment> buffers = buffers(communicator);
            communicator.run(
                    CollectiveCall.broadcast(buffers, COUNT, DataType.F32).root(1));
        }
        // A ring broadcast is a path: each rank but one sends to one rank, and each but the root gets from one.
        assertThat(heard.moves.stream()
                        .collect(Collectors.groupingBy(
                                StepListener.Move::to, Collectors.summingLong(StepListener.Move::bytes))))
                .hasSize(RANKS - 1)
                .doesNotContainKey(1)
                .allSatisfy((rank, bytes) -> assertThat(bytes).isEqualTo((long) COUNT * Float.BYTES));
        assertThat(heard.moves.stream().map(StepListener.Move::from).distinct()).hasSizeGreaterThan(1);
    }

    @Test
    void whoIsDetachedHearsNothing() {
        Heard heard = new Heard();
        try (HostBackend backend = new HostBackend(RANKS, 2, Duration.ofMinutes(15));
                Communicator communicator =
                        Communicator.create(MACHINE, Config.builder().build(), backend)) {
            backend.setListener(heard);
            run(communicator);
            int before = heard.moves.size();
            backend.setListener(null);
            run(communicator);
            assertThat(heard.moves).hasSize(before);
        }
    }

    private static List<MemorySegment> buffers(Communicator communicator) {
        return IntStream.range(0, RANKS)
                .mapToObj(rank -> communicator.allocate(rank, (long) COUNT * Float.BYTES))
                .toList();
    }

    private static void run(Communicator communicator) {
        communicator.allReduce(buffers(communicator), COUNT, DataType.F32, ReduceOp.SUM);
    }
}
