package dev.banyan.reduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.host.HostBackend;
import dev.banyan.reduce.internal.CallQueue;
import dev.banyan.reduce.internal.Deadlines;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmHint;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Calls that have not ended when their submission returns, and what may happen to them. */
class AsynchronousCallsTest {
    private static final Machine FOUR = Presets.find("p3.8xlarge").orElseThrow();
    private static final int PATIENCE_SECONDS = 30;

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
        return Communicator.create(FOUR, timeout(Duration.ofSeconds(PATIENCE_SECONDS)), devices);
    }

    private void awaitStarts(int number) {
        while (devices.runs.size() < number) {
            Thread.onSpinWait();
        }
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
            awaitStarts(3);
            assertThat(List.of(first, second, third)).noneMatch(CompletableFuture::isDone);
            devices.runs.forEach(run -> run.complete(null));
            CompletableFuture.allOf(first, second, third).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        }
    }

    @Test
    void aDependentMayEnqueue() throws Exception {
        try (Communicator communicator = patient()) {
            CompletableFuture<Void> last = communicator
                    .runAsync(call(8))
                    .thenCompose(_ -> communicator.enqueue(call(8), FakeDevices.streams()));
            awaitStarts(1);
            devices.runs.getFirst().complete(null);
            awaitStarts(2);
            devices.runs.getLast().complete(null);
            last.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        }
    }

    @Test
    void aBlockedDependentKeepsNothingElseFromEnding() throws Exception {
        CountDownLatch release = new CountDownLatch(1);
        CompletableFuture<Void> blocked;
        try (Communicator communicator = patient()) {
            blocked = communicator.runAsync(call(8)).thenRun(() -> await(release));
            awaitStarts(1);
            devices.runs.getFirst().complete(null);
            CompletableFuture<Void> later = communicator.runAsync(call(8));
            awaitStarts(2);
            devices.runs.getLast().complete(null);
            later.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        }
        assertThat(blocked).isNotDone();
        release.countDown();
        blocked.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    @Test
    void aBlockedDependentKeepsNoDeadlineFromComing() {
        CountDownLatch release = new CountDownLatch(1);
        Communicator communicator = Communicator.create(FOUR, timeout(Duration.ofMillis(50)), devices);
        CompletableFuture<Void> blocked = communicator.runAsync(call(8)).whenComplete((_, _) -> await(release));
        CompletableFuture<Void> late = communicator.runAsync(call(8));
        assertThatThrownBy(() -> late.get(PATIENCE_SECONDS, TimeUnit.SECONDS))
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(CollectiveTimeoutException.class);
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
            assertThatThrownBy(() -> late.get(PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .hasCauseInstanceOf(CollectiveTimeoutException.class);
        } finally {
            release.countDown();
            hogs.forEach(CompletableFuture::join);
        }
    }

    @Test
    void cancellingAFutureDoesNotEndItsCall() throws Exception {
        Communicator communicator = patient();
        CompletableFuture<Void> cancelled = communicator.runAsync(call(8));
        awaitStarts(1);
        cancelled.cancel(true);
        CompletableFuture<Void> expired = communicator.runAsync(call(8)).orTimeout(1, TimeUnit.MILLISECONDS);
        awaitStarts(2);
        assertThatThrownBy(expired::join).isNotNull();
        CompletableFuture<Void> closed = CompletableFuture.runAsync(communicator::close);
        assertThat(closed).isNotDone();
        assertThat(devices.runs).noneMatch(CompletableFuture::isDone);
        devices.runs.forEach(run -> run.complete(null));
        closed.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    @Test
    void planningDoesNotCountTowardsTheTimeout() {
        devices.whenPreparing(() -> {
            CountDownLatch planned = new CountDownLatch(1);
            var _ = Deadlines.after(TimeUnit.MILLISECONDS.toNanos(2_000), planned::countDown);
            await(planned);
        });
        Communicator communicator = Communicator.create(FOUR, timeout(Duration.ofMillis(500)), devices);
        CompletableFuture<Void> call = communicator.runAsync(call(8));
        awaitStarts(1);
        devices.runs.getFirst().complete(null);
        assertThat(call).succeedsWithin(Duration.ofSeconds(PATIENCE_SECONDS));
    }

    /**
     * One thread starts and ends the calls and looks for late ones, in the order of time, however late it is
     * itself.
     */
    @Test
    void aCallsTimeoutCountsFromTheEndOfTheCallBefore() {
        try (CallQueue queue = new CallQueue("test", Duration.ofSeconds(1), Duration.ZERO)) {
            CompletableFuture<CompletableFuture<Void>> last = new CompletableFuture<>();
            var _ = Deadlines.after(0, () -> {
                List<CompletableFuture<Void>> runs = new ArrayList<>();
                for (int i = 1; i <= 3; i++) {
                    CompletableFuture<Void> run = new CompletableFuture<>();
                    var _ = Deadlines.after(TimeUnit.MILLISECONDS.toNanos(600L * i), () -> run.complete(null));
                    runs.add(run);
                }
                last.complete(runs.stream()
                        .map(run -> queue.enqueue(endingWith(run)))
                        .toList()
                        .getLast());
            });
            assertThat(last.thenCompose(call -> call)).succeedsWithin(Duration.ofSeconds(PATIENCE_SECONDS));
        }
    }

    /** The grace period is a second, so that the batch may take more than 20. */
    @Test
    void aBatchHasTheTimeoutOfAllItsRuns() {
        try (Communicator communicator = Communicator.create(FOUR, timeout(Duration.ofMillis(50)), devices)) {
            CompletableFuture<Void> batch = communicator.runAllAsync(Collections.nCopies(20, call(8)));
            awaitStarts(20);
            var _ = Deadlines.after(
                    TimeUnit.MILLISECONDS.toNanos(1500), () -> devices.runs.forEach(run -> run.complete(null)));
            assertThat(batch).succeedsWithin(Duration.ofSeconds(PATIENCE_SECONDS));
        }
    }

    @Test
    void abortFailsWhatHasNotEnded() {
        Communicator communicator = patient();
        CompletableFuture<Void> running = communicator.runAsync(call(8));
        awaitStarts(1);
        assertThat(communicator.failure()).isEmpty();
        communicator.abort();
        assertThatThrownBy(() -> running.get(PATIENCE_SECONDS, TimeUnit.SECONDS))
                .isInstanceOf(ExecutionException.class)
                .hasRootCauseMessage("Communicator.abort was called");
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
        CallQueue queue = new CallQueue("queue", Duration.ofMinutes(1), Duration.ofMinutes(1));
        CompletableFuture<Void> run = new CompletableFuture<>();
        CompletableFuture<Void> call = queue.enqueue(endingWith(run));
        queue.fail(new IllegalStateException("aborted"));
        assertThatThrownBy(call::join).hasRootCauseMessage("aborted");
        CompletableFuture<Void> closed = CompletableFuture.runAsync(queue::close);
        assertThat(closed).isNotDone();
        run.complete(null);
        closed.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
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
        try (Communicator communicator = Communicator.create(FOUR, Config.defaults())) {
            CollectiveCall call = call(1000);
            call.inputs().forEach(buffer -> buffer.setAtIndex(ValueLayout.JAVA_FLOAT, 999, 1));
            communicator.runAll(List.of(call, call));
            communicator.runAllAsync(List.of(call, call)).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
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
            if (!worker.equals(caller)) {
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
            assertThatThrownBy(() -> {
                        // A run without the worker is possible, but not run after run.
                        while (true) {
                            communicator.run(call, new AlgorithmHint(AlgorithmChoice.STAR, 0));
                        }
                    })
                    .isInstanceOf(CollectiveTimeoutException.class);
            await(entered);
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
        try (Communicator communicator = Communicator.create(FOUR, Config.defaults())) {
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
