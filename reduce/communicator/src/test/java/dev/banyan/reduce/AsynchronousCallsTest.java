package dev.banyan.reduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.internal.CallQueue;
import dev.banyan.reduce.internal.Deadlines;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmHint;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Calls that have not ended when their submission returns, and what may happen to them. */
class AsynchronousCallsTest {
    private static final Machine FOUR = Machine.preset("p3.8xlarge");

    private final FakeDevices devices = new FakeDevices();

    private static Config timeout(Duration timeout) {
        return Config.builder().set(Communicator.TIMEOUT, timeout).build();
    }

    private static CollectiveCall call(int elements) {
        return CollectiveCall.allReduce(
                IntStream.range(0, 4)
                        .mapToObj(_ -> Arena.ofAuto().allocate(4L * elements))
                        .toList(),
                elements,
                DataType.F32,
                ReduceOp.SUM);
    }

    private Communicator patient() {
        return Communicator.create(FOUR, timeout(Duration.ofMinutes(15)), devices);
    }

    private static CallQueue.Call endingWith(CompletableFuture<Void> run) {
        return completion -> {
            var _ = run.whenComplete((_, failure) -> completion.ended(failure));
        };
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void aCallTakesItsPlaceWhileTheOneBeforeRuns() throws Exception {
        try (Communicator communicator = patient()) {
            CompletableFuture<Void> first = communicator.enqueue(call(8), FakeDevices.streams());
            CompletableFuture<Void> second = communicator.enqueue(call(8), FakeDevices.streams());
            CompletableFuture<Void> third = communicator.runAsync(call(8));
            devices.awaitStarts(3);
            assertThat(List.of(first, second, third)).noneMatch(CompletableFuture::isDone);
            devices.runs.forEach(run -> run.complete(null));
            CompletableFuture.allOf(first, second, third).join();
        }
    }

    @Test
    void aDependentMayEnqueue() throws Exception {
        try (Communicator communicator = patient()) {
            CompletableFuture<Void> last = communicator
                    .runAsync(call(8))
                    .thenCompose(_ -> communicator.enqueue(call(8), FakeDevices.streams()));
            devices.awaitStarts(1);
            devices.runs.getFirst().complete(null);
            devices.awaitStarts(2);
            devices.runs.getLast().complete(null);
            last.join();
        }
    }

    @Test
    void aBlockedDependentKeepsNothingElseFromEnding() throws Exception {
        CountDownLatch release = new CountDownLatch(1);
        CompletableFuture<Void> blocked;
        try (Communicator communicator = patient()) {
            blocked = communicator.runAsync(call(8)).thenRun(() -> await(release));
            devices.awaitStarts(1);
            devices.runs.getFirst().complete(null);
            CompletableFuture<Void> later = communicator.runAsync(call(8));
            devices.awaitStarts(2);
            devices.runs.getLast().complete(null);
            later.join();
        }
        assertThat(blocked).isNotDone();
        release.countDown();
        blocked.join();
    }

    @Test
    void aBlockedDependentKeepsNoDeadlineFromComing() {
        CountDownLatch release = new CountDownLatch(1);
        CountDownLatch submitted = new CountDownLatch(1);
        // Planning does not count, so no deadline comes before both calls are submitted.
        devices.whenPreparing(() -> await(submitted));
        Communicator communicator = Communicator.create(FOUR, timeout(Duration.ofMillis(50)), devices);
        CompletableFuture<Void> blocked = communicator.runAsync(call(8)).whenComplete((_, _) -> await(release));
        CompletableFuture<Void> late = communicator.runAsync(call(8));
        submitted.countDown();
        assertThatThrownBy(late::join).hasCauseInstanceOf(CollectiveTimeoutException.class);
        assertThat(blocked).isNotDone();
        release.countDown();
    }

    @Test
    void aProgramThatBlocksTheCommonPoolDisarmsNoDeadline() {
        CountDownLatch release = new CountDownLatch(1);
        List<CompletableFuture<Void>> hogs = new ArrayList<>();
        for (int i = 0; i < 4 * ForkJoinPool.getCommonPoolParallelism() + 4; i++) {
            hogs.add(CompletableFuture.runAsync(() -> await(release), ForkJoinPool.commonPool()));
        }
        try {
            Communicator communicator = Communicator.create(FOUR, timeout(Duration.ofMillis(50)), devices);
            CompletableFuture<Void> late = communicator.runAsync(call(8));
            assertThatThrownBy(late::join).hasCauseInstanceOf(CollectiveTimeoutException.class);
        } finally {
            release.countDown();
            hogs.forEach(CompletableFuture::join);
        }
    }

    @Test
    void cancellingAFutureDoesNotEndItsCall() throws Exception {
        Communicator communicator = patient();
        CompletableFuture<Void> cancelled = communicator.runAsync(call(8));
        devices.awaitStarts(1);
        cancelled.cancel(true);
        CompletableFuture<Void> expired = communicator.runAsync(call(8)).orTimeout(1, TimeUnit.MILLISECONDS);
        devices.awaitStarts(2);
        assertThatThrownBy(expired::join).isNotNull();
        CompletableFuture<Void> closed = CompletableFuture.runAsync(communicator::close);
        assertThat(closed).isNotDone();
        assertThat(devices.runs).noneMatch(CompletableFuture::isDone);
        devices.runs.forEach(run -> run.complete(null));
        closed.join();
    }

    @Test
    void planningDoesNotCountTowardsTheTimeout() {
        ManualDeadlines time = new ManualDeadlines();
        try (CallQueue queue = new CallQueue("test", Duration.ofSeconds(1), Duration.ZERO, time)) {
            CompletableFuture<Void> run = new CompletableFuture<>();
            CompletableFuture<Void> call = queue.enqueue(new CallQueue.Call() {
                @Override
                public void prepare() {
                    time.advance(Duration.ofSeconds(10));
                }

                @Override
                public void start(Completion completion) {
                    endingWith(run).start(completion);
                }
            });
            time.advance(Duration.ofMillis(999));
            run.complete(null);
            call.join();
        }
    }

    @Test
    void aCallsTimeoutCountsFromTheEndOfTheCallBefore() {
        ManualDeadlines time = new ManualDeadlines();
        try (CallQueue queue = new CallQueue("test", Duration.ofSeconds(1), Duration.ZERO, time)) {
            List<CompletableFuture<Void>> runs =
                    List.of(new CompletableFuture<>(), new CompletableFuture<>(), new CompletableFuture<>());
            List<CompletableFuture<Void>> calls =
                    runs.stream().map(run -> queue.enqueue(endingWith(run))).toList();
            for (CompletableFuture<Void> run : runs.subList(0, 2)) {
                time.advance(Duration.ofMillis(999));
                run.complete(null);
            }
            calls.subList(0, 2).forEach(CompletableFuture::join);
            time.advance(Duration.ofMillis(999));
            assertThat(queue.failure()).isNull();
            time.advance(Duration.ofMillis(1));
            assertThatThrownBy(calls.getLast()::join).hasCauseInstanceOf(CollectiveTimeoutException.class);
            runs.getLast().complete(null);
        }
    }

    /** The grace period is a second, so that the batch may take 105 s, and a single call 1.05 s. */
    @Test
    void aBatchHasTheTimeoutOfAllItsRuns() {
        try (Communicator communicator = Communicator.create(FOUR, timeout(Duration.ofMillis(50)), devices)) {
            CompletableFuture<Void> batch = communicator.runAllAsync(Collections.nCopies(100, call(8)));
            devices.awaitStarts(100);
            var _ = Deadlines.SYSTEM.after(
                    TimeUnit.MILLISECONDS.toNanos(1500), () -> devices.runs.forEach(run -> run.complete(null)));
            batch.join();
        }
    }

    @Test
    void abortFailsWhatHasNotEnded() {
        Communicator communicator = patient();
        CompletableFuture<Void> running = communicator.runAsync(call(8));
        devices.awaitStarts(1);
        assertThat(communicator.failure()).isEmpty();
        communicator.abort();
        assertThatThrownBy(running::join).hasRootCauseMessage("Communicator.abort was called");
        assertThat(communicator.failure())
                .get()
                .hasFieldOrPropertyWithValue("message", "Communicator.abort was called");
        assertThatThrownBy(() -> communicator.run(call(8)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("broken: Communicator.abort was called");
        assertThatThrownBy(communicator::close).isInstanceOf(CollectiveTimeoutException.class);
        devices.runs.getFirst().complete(null);
        communicator.close();
    }

    @Test
    void closeWaitsForACallThatReturnsSoonAfterAnAbort() throws Exception {
        CallQueue queue = new CallQueue("queue", Duration.ofMinutes(1), Duration.ofMinutes(15), Deadlines.SYSTEM);
        CompletableFuture<Void> run = new CompletableFuture<>();
        CompletableFuture<Void> call = queue.enqueue(endingWith(run));
        queue.fail(new IllegalStateException("aborted"));
        assertThatThrownBy(call::join).hasRootCauseMessage("aborted");
        CompletableFuture<Void> closed = CompletableFuture.runAsync(queue::close);
        assertThat(closed).isNotDone();
        run.complete(null);
        closed.join();
    }

    @Test
    void abortAfterCloseHasNoEffect() {
        Communicator communicator = patient();
        communicator.close();
        communicator.abort();
        assertThat(communicator.failure()).isEmpty();
        communicator.close();
    }

    @Test
    void aBatchTakesEffectInItsOrderAndEndsAsOne() throws Exception {
        try (Communicator communicator = Communicator.onHost(FOUR, Config.defaults())) {
            CollectiveCall call = call(1000);
            call.inputs().forEach(buffer -> buffer.setAtIndex(ValueLayout.JAVA_FLOAT, 999, 1));
            communicator.runAll(List.of(call, call));
            communicator.runAllAsync(List.of(call, call)).join();
            assertThat(call.outputs())
                    .allSatisfy(buffer -> assertThat(buffer.getAtIndex(ValueLayout.JAVA_FLOAT, 999))
                            .isEqualTo(256));
            communicator.runAll(List.of());
            assertThatThrownBy(() -> communicator
                            .enqueueAll(List.of(call), FakeDevices.streams())
                            .get())
                    .hasMessageContaining("no streams");
        }
    }

    @Test
    void aBatchJoinsTheStreamsOfTheCallerAtItsEndsAlone() {
        for (int calls = 1; calls <= 4; calls++) {
            FakeDevices fake = new FakeDevices();
            try (Communicator communicator = Communicator.create(FOUR, Config.defaults(), fake)) {
                CompletableFuture<Void> batch =
                        communicator.enqueueAll(Collections.nCopies(calls, call(8)), FakeDevices.streams());
                List<Boolean> joins = new ArrayList<>(Collections.nCopies(calls, false));
                joins.set(0, true);
                joins.set(calls - 1, true);
                assertThat(fake.joins).isEqualTo(joins);
                fake.runs.forEach(run -> run.complete(null));
                batch.join();
            }
        }
    }

    @Test
    void aBatchWithAWrongCallBeginsNothing() {
        try (Communicator communicator = patient()) {
            CollectiveCall right = call(8);
            CollectiveCall wrong = CollectiveCall.allReduce(right.inputs(), 9, DataType.F32, ReduceOp.SUM);
            assertThatThrownBy(() -> communicator.runAll(List.of(right, wrong)))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThat(devices.runs).isEmpty();
        }
    }

    @Test
    void memoryStaysWhileAStuckWorkerMayWriteToIt() throws Exception {
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        HostBackend backend = new HostBackend(4, 2, Duration.ofMillis(200));
        Thread caller = Thread.currentThread();
        backend.setListener(new WorkerListener(worker -> {
            if (worker.equals(caller)) {
                // Else the caller might do all the work alone.
                await(entered);
            } else {
                entered.countDown();
                await(release);
            }
        }));
        long count = 4 << 20;
        List<MemorySegment> buffers = IntStream.range(0, 4)
                .mapToObj(rank -> backend.allocate(rank, 4 * count))
                .toList();
        Communicator communicator = Communicator.create(FOUR, Config.defaults(), backend);
        CollectiveCall call = CollectiveCall.allReduce(buffers, count, DataType.F32, ReduceOp.SUM);
        try {
            assertThatThrownBy(() -> communicator.run(call.by(new AlgorithmHint(AlgorithmChoice.STAR, 0))))
                    .isInstanceOf(CollectiveTimeoutException.class);
            assertThat(communicator.failure()).containsInstanceOf(CollectiveTimeoutException.class);
            communicator.close();
            backend.close();
            assertThat(buffers).allMatch(buffer -> buffer.scope().isAlive());
        } finally {
            release.countDown();
        }
    }

    @Test
    void memoryOfAnArenaIsFreedWithIt() {
        try (Communicator communicator = Communicator.onHost(FOUR, Config.defaults())) {
            MemorySegment buffer;
            try (Arena arena = Arena.ofShared()) {
                buffer = communicator.allocate(3, 100, arena);
                assertThat(buffer.byteSize()).isEqualTo(100);
                assertThat(buffer.address() % 64).isZero();
            }
            assertThat(buffer.scope().isAlive()).isFalse();
            try (Arena confined = Arena.ofConfined()) {
                assertThatThrownBy(() -> communicator.allocate(0, 100, confined))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("one thread");
            }
        }
    }

    @Test
    void aMissingGpuBackendIsNamed() {
        assertThatThrownBy(() -> Communicator.onGpus(FOUR, Config.defaults(), 0, 1, 2, 3))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("dev.banyan:banyan-cuda");
    }
}
