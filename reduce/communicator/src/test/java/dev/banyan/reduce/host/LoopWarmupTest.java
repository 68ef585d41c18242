package dev.banyan.reduce.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.internal.kernel.Kernels;
import dev.banyan.reduce.internal.loop.FusedLoop;
import dev.banyan.reduce.internal.loop.LoopGenerator;
import dev.banyan.reduce.internal.loop.LoopReadiness;
import dev.banyan.reduce.internal.loop.LoopShape;
import dev.banyan.reduce.internal.loop.LoopWarmup;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Runs before fused loops are ready, and the background work that makes them so. */
class LoopWarmupTest {
    private static final int RANKS = 3;
    private static final int COUNT = 20_001;

    /** Loops that are ready when the test says so. */
    private static final class Switch implements LoopReadiness {
        private final List<FusedLoop> prepared = new ArrayList<>();
        private boolean isReady;

        @Override
        public boolean isReady(FusedLoop loop) {
            return isReady;
        }

        @Override
        public void prepare(FusedLoop loop) {
            prepared.add(loop);
        }

        @Override
        public void await(FusedLoop loop) {
            isReady = true;
        }
    }

    @BeforeEach
    void needsVectors() {
        assumeTrue(Kernels.best() == Kernels.VECTOR, "needs --add-modules jdk.incubator.vector");
    }

    @Test
    void aLoopIsReadyOnceItIsCompiled() {
        // No schedule of another test has this shape, whose loop all tests of a JVM share.
        FusedLoop loop =
                LoopGenerator.loop(new LoopShape(DataType.F64, ReduceOp.PROD, "xx+xx+x++", 5, false, 3, false));
        assertThat(LoopWarmup.SHARED.isReady(loop)).isFalse();
        LoopWarmup.SHARED.await(loop);
        assertThat(LoopWarmup.SHARED.isReady(loop)).isTrue();
    }

    @Test
    void anExecutableThatIsWarmRunsFusedLoopsAtOnce() {
        Switch loops = new Switch();
        Schedule schedule = new StarAlgorithm(RANKS)
                .schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, COUNT, 4, true, 4096));
        try (HostBackend backend = new HostBackend(RANKS, 2, Duration.ofMinutes(15), Kernels.VECTOR, loops);
                Executable executable = backend.prepare(schedule, DataType.F32, ReduceOp.SUM)) {
            executable.warmUp();
            assertThat(loops.isReady).isTrue();
            run(executable, DataType.F32);
            assertThat(loops.prepared).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"F32", "F64", "BF16"})
    void runsBeforeAndAfterGiveTheSameBits(DataType type) {
        Switch loops = new Switch();
        Schedule schedule = new StarAlgorithm(RANKS)
                .schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, COUNT, type.bytes(), true, 4096));
        try (HostBackend backend = new HostBackend(RANKS, 2, Duration.ofMinutes(15), Kernels.VECTOR, loops)) {
            for (ReduceOp op : ReduceOp.values()) {
                loops.prepared.clear();
                loops.isReady = false;
                try (Executable executable = backend.prepare(schedule, type, op)) {
                    byte[][] before = run(executable, type);
                    assertThat(loops.prepared).isNotEmpty();
                    int asked = loops.prepared.size();
                    loops.isReady = true;
                    for (int again = 0; again < 2; again++) {
                        assertThat(Arrays.deepEquals(run(executable, type), before))
                                .as("%s", op)
                                .isTrue();
                    }
                    assertThat(loops.prepared).hasSize(asked);
                }
            }
        }
    }

    private static byte[][] run(Executable executable, DataType type) {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment[] buffers = new MemorySegment[RANKS];
            for (int rank = 0; rank < RANKS; rank++) {
                buffers[rank] = arena.allocate((long) COUNT * type.bytes(), 64);
                for (long at = 0; at < buffers[rank].byteSize(); at++) {
                    // No NaN, whose payload may differ: bits of the exponent stay clear.
                    buffers[rank].set(ValueLayout.JAVA_BYTE, at, (byte) ((at * 31 + rank * 7L) & 0xbb));
                }
            }
            executable.run(buffers, buffers);
            return Stream.of(buffers)
                    .map(buffer -> buffer.toArray(ValueLayout.JAVA_BYTE))
                    .toArray(byte[][]::new);
        }
    }
}
