package dev.banyan.reduce.internal.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.internal.WorkerPool;
import dev.banyan.reduce.internal.code.BlockExecutable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class BlockExecutableTest {
    private static final MemorySegment[] BUFFERS = {MemorySegment.NULL};

    /** One block for the caller, and one in which a worker stays until it is released. */
    private static final class Stuck extends BlockExecutable {
        final CountDownLatch joined = new CountDownLatch(1);
        final CountDownLatch released = new CountDownLatch(1);
        int ended;
        int freed;

        Stuck(WorkerPool pool) {
            super(BUFFERS.length, pool, Duration.ofMillis(1), 1);
        }

        @Override
        public void begin(MemorySegment[] inputs, MemorySegment[] outputs) {}

        @Override
        public void end() {
            ended++;
        }

        @Override
        public long blocks() {
            return 2;
        }

        @Override
        public int participants() {
            return 2;
        }

        @Override
        public long traffic() {
            return Long.MAX_VALUE;
        }

        @Override
        public void runBlock(int participant, long block) {
            try {
                if (participant == 0) {
                    joined.await();
                } else {
                    joined.countDown();
                    released.await();
                }
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }

        @Override
        public void free() {
            freed++;
        }
    }

    /** Returns the buffer, which is freed when nothing refers to it any more. */
    private static WeakReference<MemorySegment> runInMemoryOfTheCollector(Stuck executable) {
        MemorySegment[] buffers = {Arena.ofAuto().allocate(8)};
        assertThatThrownBy(() -> executable.run(buffers, buffers)).isInstanceOf(CollectiveTimeoutException.class);
        return new WeakReference<>(buffers[0]);
    }

    @Test
    void aStuckWorkerKeepsBuffersAndScratchMemory() {
        try (WorkerPool pool = new WorkerPool("block-test", 1, 50_000, () -> {})) {
            Stuck executable = new Stuck(pool);
            WeakReference<MemorySegment> buffer = runInMemoryOfTheCollector(executable);
            System.gc();
            assertThat(buffer.get()).as("the stuck run's buffer").isNotNull();
            assertThatThrownBy(() -> executable.run(BUFFERS, BUFFERS))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("stuck");
            executable.close();
            assertThat(executable.ended).isZero();
            assertThat(executable.freed).isZero();
            executable.released.countDown();
            while (pool.isWorking()) {
                Thread.onSpinWait();
            }
            executable.close();
            assertThat(executable.freed).isEqualTo(1);
        }
    }
}
