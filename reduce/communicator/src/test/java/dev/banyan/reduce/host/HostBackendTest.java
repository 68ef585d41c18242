package dev.banyan.reduce.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.internal.kernel.Kernels;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.internal.algorithm.CollectiveAlgorithm;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.ForestAlgorithm;
import dev.banyan.schedule.internal.algorithm.RingAlgorithm;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class HostBackendTest {
    private static final Duration LONG = Duration.ofMinutes(15);
    private static final int RANKS = 5;
    private static final Tree CHAIN = Tree.ofParents(-1, 0, 1, 2, 3);
    private static final List<CollectiveAlgorithm> ALGORITHMS = List.of(
            new ForestAlgorithm("single-tree", Forest.equalShares(List.of(CHAIN))),
            new ForestAlgorithm(
                    "multi-tree",
                    Forest.equalShares(List.of(CHAIN.rerooted(2), Tree.ofParents(4, 0, 0, 4, -1), CHAIN.rerooted(4)))),
            new RingAlgorithm(0, 2, 4, 1, 3),
            new StarAlgorithm(RANKS));

    @ParameterizedTest
    @EnumSource(DataType.class)
    void resultsDependOnNeitherThreadsNorKernels(DataType type) {
        int count = 40_003;
        byte[][] inputs = inputs(type, count);
        for (CollectiveAlgorithm algorithm : ALGORITHMS) {
            for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.AVG)) {
                Schedule schedule = algorithm.schedule(
                        new CollectiveRequest(Collective.ALL_REDUCE, -1, count, type.bytes(), true, Long.MAX_VALUE));
                byte[] expected = run(schedule, type, op, 1, Kernels.PLAIN, inputs);
                for (int threads = 1; threads <= 4; threads++) {
                    assertThat(Arrays.equals(run(schedule, type, op, threads, Kernels.best(), inputs), expected))
                            .as("%s %s with %d threads", algorithm.name(), op, threads)
                            .isTrue();
                }
            }
        }
    }

    private static byte[] run(
            Schedule schedule, DataType type, ReduceOp op, int threads, Kernels kernels, byte[][] inputs) {
        try (HostBackend backend = new HostBackend(RANKS, threads, LONG, kernels, new ReadyLoops());
                Executable executable = backend.prepare(schedule, type, op)) {
            MemorySegment[] buffers = new MemorySegment[RANKS];
            for (int r = 0; r < RANKS; r++) {
                buffers[r] = backend.allocate(r, inputs[r].length).copyFrom(MemorySegment.ofArray(inputs[r]));
            }
            executable.run(buffers, buffers);
            for (int r = 1; r < RANKS; r++) {
                assertThat(buffers[r].mismatch(buffers[0])).isEqualTo(-1);
            }
            return buffers[0].toArray(ValueLayout.JAVA_BYTE);
        }
    }

    private static byte[][] inputs(DataType type, int count) {
        SplittableRandom random = new SplittableRandom(3);
        byte[][] inputs = new byte[RANKS][count * type.bytes()];
        for (byte[] input : inputs) {
            MemorySegment at = MemorySegment.ofArray(input);
            for (int i = 0; i < count; i++) {
                long offset = (long) i * type.bytes();
                switch (type) {
                    case F32 -> at.set(ValueLayout.JAVA_FLOAT_UNALIGNED, offset, random.nextInt() * 0x1p-20f);
                    case F64 -> at.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, offset, random.nextLong() * 0x1p-50);
                    case F16 ->
                        at.set(
                                ValueLayout.JAVA_SHORT_UNALIGNED,
                                offset,
                                Float.floatToFloat16(random.nextInt() * 0x1p-28f));
                    case BF16 ->
                        at.set(ValueLayout.JAVA_SHORT_UNALIGNED, offset, (short)
                                (Float.floatToRawIntBits(random.nextInt() * 0x1p-20f) >>> 16));
                    case I8, U8 -> at.set(ValueLayout.JAVA_BYTE, offset, (byte) random.nextInt());
                    case I32 -> at.set(ValueLayout.JAVA_INT_UNALIGNED, offset, random.nextInt());
                    case I64 -> at.set(ValueLayout.JAVA_LONG_UNALIGNED, offset, random.nextLong());
                }
            }
        }
        return inputs;
    }

    @Test
    void meansOfIntegersAreExactWhereSumsOverflow() {
        try (HostBackend backend = new HostBackend(3, 1, LONG)) {
            long[][] inputs = {
                {Long.MAX_VALUE, Long.MIN_VALUE, Long.MIN_VALUE, -1, 7, Long.MAX_VALUE},
                {Long.MAX_VALUE, Long.MIN_VALUE, Long.MAX_VALUE, -1, 0, Long.MIN_VALUE},
                {Long.MAX_VALUE, Long.MIN_VALUE, Long.MIN_VALUE, 0, 1, 2}
            };
            MemorySegment[] buffers = new MemorySegment[3];
            for (int r = 0; r < 3; r++) {
                buffers[r] = backend.allocate(r, 48);
                MemorySegment.copy(inputs[r], 0, buffers[r], ValueLayout.JAVA_LONG, 0, 6);
            }
            Schedule schedule = new StarAlgorithm(3)
                    .schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, 6, 8, true, Long.MAX_VALUE));
            try (Executable executable = backend.prepare(schedule, DataType.I64, ReduceOp.AVG)) {
                executable.run(buffers, buffers);
            }
            assertThat(buffers[2].toArray(ValueLayout.JAVA_LONG))
                    .containsExactly(Long.MAX_VALUE, Long.MIN_VALUE, -3074457345618258603L, 0, 2, 0);
        }
    }

    @Test
    void badBuffersSurfaceAtTheCallerAndTheNextRunWorks() {
        long count = 1 << 20;
        Schedule schedule = new StarAlgorithm(RANKS)
                .schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, count, 4, true, Long.MAX_VALUE));
        try (HostBackend backend = new HostBackend(RANKS, 3, LONG);
                Executable executable = backend.prepare(schedule, DataType.F32, ReduceOp.SUM)) {
            MemorySegment[] buffers = new MemorySegment[RANKS];
            Arrays.setAll(buffers, r -> backend.allocate(r, count * 4));
            MemorySegment[] tooShort = buffers.clone();
            tooShort[3] = tooShort[3].asSlice(0, 2 * count);
            assertThatThrownBy(() -> executable.run(tooShort, tooShort)).isInstanceOf(RuntimeException.class);
            Arrays.stream(buffers).forEach(buffer -> buffer.fill((byte) 0));
            buffers[4].setAtIndex(ValueLayout.JAVA_FLOAT, count - 1, 5f);
            executable.run(buffers, buffers);
            assertThat(buffers[1].getAtIndex(ValueLayout.JAVA_FLOAT, count - 1)).isEqualTo(5f);
        }
    }

    @Test
    void aRunThatTakesTooLongEndsInATimeout() {
        long count = 1 << 22;
        Schedule schedule = new StarAlgorithm(2)
                .schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, count, 4, true, Long.MAX_VALUE));
        // One thread: of several, one that loses its core would be taken for stuck.
        try (HostBackend backend = new HostBackend(2, 1, Duration.ofNanos(1));
                Executable executable = backend.prepare(schedule, DataType.F32, ReduceOp.SUM)) {
            MemorySegment[] buffers = {backend.allocate(0, count * 4), backend.allocate(1, count * 4)};
            assertThatThrownBy(() -> executable.run(buffers, buffers))
                    .isInstanceOf(CollectiveTimeoutException.class)
                    .hasMessageContaining("BANYAN_TIMEOUT_MS");
            // No thread is left in it, so it may try again.
            assertThatThrownBy(() -> executable.run(buffers, buffers)).isInstanceOf(CollectiveTimeoutException.class);
        }
    }

    @Test
    void refusesASchedulesOfAnotherTypeOrSize() {
        Schedule schedule = new StarAlgorithm(2)
                .schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, 4, 4, true, Long.MAX_VALUE));
        try (HostBackend two = new HostBackend(2, 1, LONG);
                HostBackend three = new HostBackend(3, 1, LONG)) {
            assertThatThrownBy(() -> two.prepare(schedule, DataType.F64, ReduceOp.SUM))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("F64");
            assertThatThrownBy(() -> three.prepare(schedule, DataType.F32, ReduceOp.SUM))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("2 ranks");
        }
    }

    @Test
    @Tag("soak")
    void arraysOfMoreThanTwoGibibytesWork() {
        long count = (1L << 31) + 1001;
        Schedule schedule = new ForestAlgorithm(
                        "multi-tree", Forest.equalShares(List.of(Tree.ofParents(-1, 0), Tree.ofParents(1, -1))))
                .schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, count, 1, true, Long.MAX_VALUE));
        try (Arena arena = Arena.ofShared();
                HostBackend backend = new HostBackend(2, 2, LONG);
                Executable executable = backend.prepare(schedule, DataType.U8, ReduceOp.SUM)) {
            MemorySegment[] buffers = {arena.allocate(count), arena.allocate(count)};
            buffers[0].fill((byte) 200);
            buffers[1].fill((byte) 30);
            buffers[0].set(ValueLayout.JAVA_BYTE, count - 1, (byte) 1);
            executable.run(buffers, buffers);
            MemorySegment expected = arena.allocate(count).fill((byte) 230);
            expected.set(ValueLayout.JAVA_BYTE, count - 1, (byte) 31);
            assertThat(buffers[0].mismatch(expected)).isEqualTo(-1);
            assertThat(buffers[1].mismatch(expected)).isEqualTo(-1);
        }
    }
}
