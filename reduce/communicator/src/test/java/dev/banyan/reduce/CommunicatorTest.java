package dev.banyan.reduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class CommunicatorTest {
    private static final Machine FOUR = Machine.preset("p3.16xlarge").subset(0, 1, 2, 3);
    private static final Config CONFIG =
            Config.builder().set(HostBackend.THREADS, 2).build();

    private final Communicator communicator = Communicator.onHost(FOUR, CONFIG);

    @AfterEach
    void close() {
        communicator.close();
    }

    private static List<MemorySegment> floats(Communicator communicator, long count, float value) {
        return IntStream.range(0, communicator.size())
                .mapToObj(rank -> {
                    MemorySegment buffer = communicator.allocate(rank, 4 * count);
                    for (long i = 0; i < count; i++) {
                        buffer.setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
                    }
                    return buffer;
                })
                .toList();
    }

    @Test
    void refusesWrongBuffersWithOneClearSentence() {
        List<MemorySegment> good = floats(communicator, 8, 1);
        assertThatThrownBy(() -> communicator.allReduce(good.subList(0, 3), 8, DataType.F32, ReduceOp.SUM))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("all_reduce got 3 buffers, but needs 4, one for each rank of the communicator");
        refused(2, communicator.allocate(2, 31), "the buffer of rank 2 has 31 bytes, but 32 are needed");
        refused(
                1,
                MemorySegment.ofArray(new float[8]),
                "rank 1 is on the Java heap; take one from Communicator.allocate");
        refused(3, good.get(3).asReadOnly(), "rank 3 is read-only");
        refused(1, good.get(0), "overlaps");
        try (Arena confined = Arena.ofConfined()) {
            refused(0, confined.allocate(32), "rank 0 belongs to one thread only");
        }
        MemorySegment gone;
        try (Arena closed = Arena.ofShared()) {
            gone = closed.allocate(32);
        }
        refused(0, gone, "rank 0 is closed");
        assertThatThrownBy(() -> communicator.run(CollectiveCall.reduce(good, 8, DataType.F32, ReduceOp.SUM)
                        .root(4)))
                .hasMessage("root 4 for reduce over 4 ranks; roots are 0..3");
        assertThatThrownBy(() -> communicator.allReduce(good, -1, DataType.F32, ReduceOp.SUM))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("-1 elements");
        assertThat(good)
                .allSatisfy(buffer ->
                        assertThat(buffer.toArray(ValueLayout.JAVA_FLOAT)).containsOnly(1f));
    }

    private void refused(int rank, MemorySegment bad, String message) {
        List<MemorySegment> buffers = new ArrayList<>(floats(communicator, 8, 1));
        MemorySegment first = buffers.getFirst();
        buffers.set(rank, bad.address() == 0 || !message.equals("overlaps") ? bad : first);
        assertThatThrownBy(() -> communicator.allReduce(buffers, 8, DataType.F32, ReduceOp.SUM))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(message);
        assertThatThrownBy(
                        () -> communicator.runAsync(CollectiveCall.allReduce(buffers, 8, DataType.F32, ReduceOp.SUM)))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void allocatesABufferOnEveryRank() {
        List<MemorySegment> buffers = communicator.allocateAll(32);
        assertThat(buffers)
                .hasSize(4)
                .allSatisfy(buffer -> assertThat(buffer.toArray(ValueLayout.JAVA_FLOAT))
                        .containsOnly(0f)
                        .hasSize(8));
        communicator.allReduce(buffers, 8, DataType.F32, ReduceOp.SUM);
        assertThatThrownBy(() -> communicator.allocateAll(-1)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void refusesCopiesThatDoNotFitOrThatThisThreadMayNotMake() throws Exception {
        MemorySegment buffer = communicator.allocate(0, 32);
        assertThatThrownBy(() -> communicator.copyToDevice(buffer, MemorySegment.ofArray(new float[9])))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("copyToDevice: the target has 32 bytes, but the source has 36; give a slice of the source");
        assertThatThrownBy(() -> communicator.copyToHost(buffer, MemorySegment.ofArray(new float[9])))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("copyToHost: the source has 32 bytes, but the target has 36; give a slice of the target");
        try (Arena confined = Arena.ofConfined()) {
            MemorySegment ours = confined.allocate(32);
            CompletableFuture<Void> copy = CompletableFuture.runAsync(() -> communicator.copyToHost(buffer, ours));
            assertThatThrownBy(copy::get)
                    .hasCauseInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("the target is not memory that this thread may access");
        }
    }

    @Test
    void afterCloseItRunsAllocatesAndCopiesNothing() {
        List<MemorySegment> buffers = communicator.allocateAll(32);
        CollectiveCall call = CollectiveCall.allReduce(buffers, 8, DataType.F32, ReduceOp.SUM);
        communicator.close();
        List<Runnable> uses = List.of(
                () -> communicator.run(call),
                () -> communicator.runAsync(call).join(),
                () -> communicator.runAll(List.of()),
                () -> communicator.check(call),
                () -> communicator.allocateAll(32),
                () -> communicator.allocate(0, 32, Arena.ofAuto()),
                () -> communicator.allocateHost(32, Arena.ofAuto()),
                () -> communicator.copyToDevice(buffers.get(0), MemorySegment.ofArray(new float[8])),
                () -> communicator.copyToHost(buffers.get(0), MemorySegment.ofArray(new float[8])));
        assertThat(uses)
                .allSatisfy(use -> assertThatThrownBy(use::run)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessage("the communicator is closed; create a new one"));
    }

    @Test
    void refusesOutputsThatOverlapOtherBuffers() {
        MemorySegment all = communicator.allocate(0, 9 * 32);
        List<MemorySegment> inputs =
                IntStream.range(0, 4).mapToObj(r -> all.asSlice(32L * r, 32)).toList();
        List<MemorySegment> outputs = IntStream.range(4, 8)
                .mapToObj(r -> all.asSlice(32L * r - 4, 32))
                .toList();
        assertThatThrownBy(() -> communicator.run(CollectiveCall.allReduce(inputs, 8, DataType.F32, ReduceOp.SUM)
                        .into(outputs)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(
                        "overlaps another one; give outputs memory of their own, or call the in-place form");
        assertThatThrownBy(() -> communicator.run(CollectiveCall.allReduce(inputs, 8, DataType.F32, ReduceOp.SUM)
                        .into(inputs)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("in-place form");
        // The same input several times is fine.
        communicator.run(CollectiveCall.allReduce(
                        List.of(all.asSlice(0, 32), all.asSlice(0, 32), all.asSlice(0, 32), all.asSlice(0, 32)),
                        8,
                        DataType.F32,
                        ReduceOp.SUM)
                .into(IntStream.range(4, 8)
                        .mapToObj(r -> all.asSlice(32L * r, 32))
                        .toList()));
    }

    @Test
    void callsRunInTheOrderOfSubmission() {
        List<MemorySegment> buffers = floats(communicator, 1000, 1);
        List<CompletableFuture<Void>> futures = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            futures.add(communicator.runAsync(CollectiveCall.allReduce(buffers, 1000, DataType.F32, ReduceOp.SUM)));
            futures.add(communicator.runAsync(CollectiveCall.allReduce(buffers, 1000, DataType.F32, ReduceOp.AVG)));
        }
        communicator.allReduce(buffers, 1000, DataType.F32, ReduceOp.SUM);
        // The calls have ended; their futures are copies, which another thread completes.
        CompletableFuture.allOf(futures.toArray(CompletableFuture<?>[]::new)).join();
        float expected = (float) Math.pow(4, 21);
        assertThat(buffers)
                .allSatisfy(buffer ->
                        assertThat(buffer.toArray(ValueLayout.JAVA_FLOAT)).containsOnly(expected));
    }

    @Test
    void futuresMayCallTheCommunicatorAgain() throws Exception {
        List<MemorySegment> buffers = floats(communicator, 100, 1);
        CompletableFuture<Void> last = communicator
                .runAsync(CollectiveCall.allReduce(buffers, 100, DataType.F32, ReduceOp.SUM))
                .thenRun(() -> communicator.allReduce(buffers, 100, DataType.F32, ReduceOp.SUM))
                .thenCompose(done ->
                        communicator.runAsync(CollectiveCall.allReduce(buffers, 100, DataType.F32, ReduceOp.SUM)));
        last.join();
        assertThat(buffers.getLast().getAtIndex(ValueLayout.JAVA_FLOAT, 99)).isEqualTo(64f);
    }

    @Test
    void anyNumberOfFuturesMayMakeBlockingCalls() throws Exception {
        List<MemorySegment> buffers = floats(communicator, 1, 1);
        List<CompletableFuture<Void>> futures = new ArrayList<>();
        for (int i = 0; i < 5_000; i++) {
            futures.add(communicator
                    .runAsync(CollectiveCall.allReduce(buffers, 1, DataType.F32, ReduceOp.AVG))
                    .thenRun(() -> communicator.allReduce(buffers, 1, DataType.F32, ReduceOp.AVG)));
        }
        CompletableFuture.allOf(futures.toArray(CompletableFuture[]::new)).join();
        assertThat(buffers.getLast().getAtIndex(ValueLayout.JAVA_FLOAT, 0)).isEqualTo(1f);
    }

    @Test
    void futuresMayCloseTheCommunicator() throws Exception {
        CountDownLatch submitted = new CountDownLatch(1);
        // No call ends before all are submitted: what depends on one that has ended would run on this thread.
        Communicator each = Communicator.create(FOUR, CONFIG, new ScriptedBackend(() -> await(submitted)));
        List<MemorySegment> buffers = floats(each, 16, 1);
        List<CompletableFuture<Void>> futures = new ArrayList<>();
        for (int i = 0; i < 2_000; i++) {
            futures.add(each.runAsync(CollectiveCall.allReduce(buffers, 16, DataType.F32, ReduceOp.SUM))
                    .thenRun(each::close));
        }
        submitted.countDown();
        CompletableFuture.allOf(futures.toArray(CompletableFuture[]::new)).join();
        assertThatThrownBy(() -> each.allReduce(buffers, 16, DataType.F32, ReduceOp.SUM))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void anInterruptedCallerGetsItsResultAndStaysInterrupted() {
        List<MemorySegment> buffers = floats(communicator, 1_000_000, 1);
        Thread.currentThread().interrupt();
        CompletableFuture<Void> earlier =
                communicator.runAsync(CollectiveCall.allReduce(buffers, 1_000_000, DataType.F32, ReduceOp.SUM));
        communicator.allReduce(buffers, 1_000_000, DataType.F32, ReduceOp.SUM);
        assertThat(Thread.interrupted()).isTrue();
        earlier.join();
        assertThat(buffers)
                .allSatisfy(buffer -> assertThat(allEqual(buffer.toArray(ValueLayout.JAVA_FLOAT), 16f))
                        .isTrue());
    }

    /** Vectors are objects until the compiler has removed them. One round of many that allocates little is enough. */
    @Test
    void blockingCallsAllocateNextToNothing() {
        int count = 100_000;
        int calls = 200;
        List<MemorySegment> buffers = floats(communicator, count, 0);
        var thread = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long least = Long.MAX_VALUE;
        for (int round = 0; round < 50 && least >= 2_000; round++) {
            long before = thread.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < calls; i++) {
                communicator.allReduce(buffers, count, DataType.BF16, ReduceOp.SUM);
            }
            least = Math.min(least, (thread.getCurrentThreadAllocatedBytes() - before) / calls);
        }
        // Some 450 bytes; a copy of a buffer would be 200,000, boxes more.
        assertThat(least).isLessThan(2_000);
    }

    @Test
    void refusesMoreBytesThanThereAre() {
        List<MemorySegment> buffers = floats(communicator, 8, 1);
        assertThatThrownBy(() -> communicator.allReduce(buffers, Long.MAX_VALUE / 2, DataType.F64, ReduceOp.SUM))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("more bytes than 64 bits count");
        assertThatThrownBy(() -> communicator.run(CollectiveCall.allGather(buffers, Long.MAX_VALUE / 8, DataType.F32)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("more bytes than 64 bits count");
    }

    @Test
    void aLoneBufferThatOverlapsIsCalledTheRoots() {
        List<MemorySegment> buffers = floats(communicator, 8, 1);
        assertThatThrownBy(() -> communicator.run(CollectiveCall.reduce(buffers, 8, DataType.F32, ReduceOp.SUM)
                        .root(3)
                        .into(List.of(buffers.get(2)))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("the output of rank 3 overlaps");
    }

    @Test
    void theLongestTimeoutIsNone() throws Exception {
        Config patient = Config.builder()
                .set(Communicator.TIMEOUT, Duration.ofSeconds(Long.MAX_VALUE))
                .build();
        try (Communicator each = Communicator.onHost(FOUR, patient)) {
            List<MemorySegment> buffers = floats(each, 1_000_000, 1);
            each.allReduce(buffers, 1_000_000, DataType.F32, ReduceOp.SUM);
            each.runAsync(CollectiveCall.allReduce(buffers, 1_000_000, DataType.F32, ReduceOp.SUM))
                    .join();
            assertThat(buffers.getFirst().getAtIndex(ValueLayout.JAVA_FLOAT, 999_999))
                    .isEqualTo(16f);
        }
    }

    @Test
    void severalCommunicatorsOnSeveralThreadsDoNotDisturbEachOther() throws Exception {
        try (HostBackend shared = new HostBackend(4, 2, Duration.ofMinutes(15))) {
            List<Communicator> communicators = List.of(
                    communicator,
                    Communicator.onHost(FOUR, CONFIG),
                    Communicator.create(FOUR, CONFIG, shared),
                    Communicator.create(FOUR, CONFIG, shared));
            List<Thread> threads = new ArrayList<>();
            AtomicInteger right = new AtomicInteger();
            for (Communicator each : communicators) {
                for (int t = 0; t < 2; t++) {
                    threads.add(new Thread(() -> {
                        long count = 100_000;
                        List<MemorySegment> buffers = floats(each, count, 1);
                        List<CompletableFuture<Void>> futures = new ArrayList<>();
                        for (int i = 0; i < 8; i++) {
                            futures.add(each.runAsync(
                                    CollectiveCall.allReduce(buffers, count, DataType.F32, ReduceOp.SUM)));
                            each.allReduce(buffers, count, DataType.F32, ReduceOp.AVG);
                        }
                        futures.forEach(CompletableFuture::join);
                        if (buffers.stream().allMatch(b -> allEqual(b.toArray(ValueLayout.JAVA_FLOAT), 65536f))) {
                            right.incrementAndGet();
                        }
                    }));
                }
            }
            threads.forEach(Thread::start);
            for (Thread thread : threads) {
                thread.join();
            }
            communicators.forEach(Communicator::close);
            assertThat(right).hasValue(threads.size());
        }
    }

    private static boolean allEqual(float[] values, float expected) {
        for (float value : values) {
            if (value != expected) {
                return false;
            }
        }
        return true;
    }

    @Test
    void aClosedCommunicatorSaysSo() {
        List<MemorySegment> buffers;
        try (Arena arena = Arena.ofShared()) {
            buffers = IntStream.range(0, 4).mapToObj(r -> arena.allocate(32)).toList();
            communicator.close();
            communicator.close();
            assertThatThrownBy(() -> communicator.allReduce(buffers, 8, DataType.F32, ReduceOp.SUM))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("closed");
            assertThatThrownBy(() ->
                            communicator.runAsync(CollectiveCall.allReduce(buffers, 8, DataType.F32, ReduceOp.SUM)))
                    .isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void closingWaitsForWhatWasSubmitted() {
        List<CompletableFuture<Void>> futures = new ArrayList<>();
        try (Arena arena = Arena.ofShared()) {
            List<MemorySegment> buffers = IntStream.range(0, 4)
                    .mapToObj(r -> arena.allocate(4_000_000))
                    .toList();
            for (int i = 0; i < 10; i++) {
                futures.add(communicator.runAsync(
                        CollectiveCall.allReduce(buffers, 1_000_000, DataType.F32, ReduceOp.SUM)));
            }
            communicator.close();
        }
        futures.forEach(CompletableFuture::join);
    }

    @Test
    void aMachineWithoutDevicesIsRefused() {
        Machine none = new Machine("empty", List.of(), List.of(), List.of(), List.of(), List.of());
        assertThatThrownBy(() -> Communicator.onHost(none, CONFIG))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no devices");
    }

    @Test
    void aFailureOfTheBackendReachesTheCallerAndTheNextCallWorks() {
        AtomicInteger runs = new AtomicInteger();
        Backend failing = new ScriptedBackend(() -> {
            if (runs.incrementAndGet() <= 2) {
                throw new IllegalStateException("lost device 2");
            }
        });
        try (Communicator broken = Communicator.create(FOUR, CONFIG, failing)) {
            List<MemorySegment> buffers = floats(broken, 8, 1);
            assertThatThrownBy(() -> broken.allReduce(buffers, 8, DataType.F32, ReduceOp.SUM))
                    .hasMessage("lost device 2");
            assertThatThrownBy(() -> broken.runAsync(CollectiveCall.allReduce(buffers, 8, DataType.F32, ReduceOp.SUM))
                            .get())
                    .isInstanceOf(ExecutionException.class)
                    .hasRootCauseMessage("lost device 2");
            assertThatCode(() -> broken.allReduce(buffers, 8, DataType.F32, ReduceOp.SUM))
                    .doesNotThrowAnyException();
        }
    }

    @Test
    void aStuckBackendFailsAllThatWait() throws Exception {
        CountDownLatch release = new CountDownLatch(1);
        ScriptedBackend stuck = new ScriptedBackend(() -> await(release));
        Config hasty = Config.builder()
                .set(HostBackend.THREADS, 1)
                .set(Communicator.TIMEOUT, Duration.ofMillis(10))
                .build();
        CountDownLatch submitted = new CountDownLatch(1);
        // Planning does not count, so no deadline comes before all calls are submitted.
        stuck.onPrepare = () -> await(submitted);
        Communicator broken = Communicator.create(FOUR, hasty, stuck);
        try {
            List<MemorySegment> buffers = floats(broken, 8, 1);
            List<CompletableFuture<Void>> futures = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                futures.add(broken.runAsync(CollectiveCall.allReduce(buffers, 8, DataType.F32, ReduceOp.SUM)));
            }
            submitted.countDown();
            for (CompletableFuture<Void> future : futures) {
                assertThatThrownBy(future::join).hasCauseInstanceOf(CollectiveTimeoutException.class);
            }
            assertThatThrownBy(() -> broken.allReduce(buffers, 8, DataType.F32, ReduceOp.SUM))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("broken");
            assertThatThrownBy(broken::close).isInstanceOf(CollectiveTimeoutException.class);
        } finally {
            release.countDown();
        }
    }

    @Test
    void aStuckBlockingCallFailsAllThatWait() throws Exception {
        CountDownLatch planning = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        ScriptedBackend stuck = new ScriptedBackend(() -> await(release));
        Config hasty = Config.builder()
                .set(HostBackend.THREADS, 1)
                .set(Communicator.TIMEOUT, Duration.ofMillis(10))
                .build();
        CountDownLatch submitted = new CountDownLatch(1);
        // Planning does not count, so no deadline comes before all calls are submitted.
        stuck.onPrepare = () -> {
            planning.countDown();
            await(submitted);
        };
        Communicator broken = Communicator.create(FOUR, hasty, stuck);
        List<MemorySegment> buffers = floats(broken, 8, 1);
        Thread first = new Thread(() -> broken.allReduce(buffers, 8, DataType.F32, ReduceOp.SUM));
        first.start();
        try {
            await(planning);
            CompletableFuture<Void> second =
                    broken.runAsync(CollectiveCall.allReduce(buffers, 8, DataType.F32, ReduceOp.SUM));
            submitted.countDown();
            assertThatThrownBy(second::join)
                    .hasCauseInstanceOf(CollectiveTimeoutException.class)
                    .hasMessageContaining("BANYAN_TIMEOUT_MS");
            assertThatThrownBy(broken::close).isInstanceOf(CollectiveTimeoutException.class);
        } finally {
            release.countDown();
            first.join();
        }
    }

    @Test
    @SuppressWarnings("NullAway") // A program need not check for null.
    void streamsThatAreNullAreRefused() {
        CollectiveCall call = CollectiveCall.allReduce(floats(communicator, 32, 1), 8, DataType.F32, ReduceOp.SUM);
        assertThatThrownBy(() -> communicator.enqueue(call, null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the streams are null; give one for each rank, or call runAsync");
    }

    @Test
    void aBufferThatIsNullIsNamed() {
        List<MemorySegment> buffers = new ArrayList<>(floats(communicator, 32, 1));
        buffers.set(2, null);
        assertThatThrownBy(() -> communicator.allReduce(buffers, 8, DataType.F32, ReduceOp.SUM))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("buffer 2 of 4 is null; give a memory segment for each rank");
    }

    @Test
    void plansAreMadeOnce() {
        ScriptedBackend counting = new ScriptedBackend(() -> {});
        try (Communicator each = Communicator.create(FOUR, CONFIG, counting)) {
            List<MemorySegment> buffers = floats(each, 32, 1);
            for (int i = 0; i < 5; i++) {
                each.allReduce(buffers, 8, DataType.F32, ReduceOp.SUM);
                each.run(CollectiveCall.allGather(buffers, 8, DataType.F32));
                each.run(CollectiveCall.broadcast(buffers, 8, DataType.F32).root(i % 2));
            }
            assertThat(counting.prepared).hasValue(4);
        }
    }

    @Test
    void thePlansThatWereUsedLeastRecentlyAreClosed() {
        PlanCache cache = new PlanCache(2);
        List<Long> closed = new ArrayList<>();
        for (long count : new long[] {1, 2, 1, 3, 1, 2}) {
            PlanKey key = PlanKey.of(
                    CollectiveCall.of(Collective.ALL_REDUCE, -1, count, DataType.F32, ReduceOp.SUM, List.of()));
            cache.get(
                    key,
                    made -> new Plan(
                            AlgorithmChoice.RING.label(),
                            new FakeExecutable(() -> {}, () -> closed.add(made.count()))));
        }
        assertThat(closed).containsExactly(2L, 3L);
        assertThat(cache.size()).isEqualTo(2);
        cache.close();
        assertThat(closed).containsExactlyInAnyOrder(2L, 3L, 1L, 2L);
    }

    @Test
    void aBackendWithoutReproducibleSumsSaysSo() {
        Config reproducible =
                Config.builder().set(Algorithms.REPRODUCIBLE, true).build();
        ScriptedBackend backend = new ScriptedBackend(() -> {});
        try (Communicator communicator = Communicator.create(FOUR, reproducible, backend)) {
            List<MemorySegment> buffers = communicator.allocateAll(4);
            assertThatThrownBy(() -> communicator.allReduce(buffers, 1, DataType.F32, ReduceOp.SUM))
                    .isInstanceOf(UnsupportedOperationException.class)
                    .hasMessage("the backend fake has no reproducible sums; set BANYAN_REPRODUCIBLE to 0");
            communicator.allReduce(buffers, 1, DataType.I32, ReduceOp.SUM);
            assertThat(backend.prepared).hasValue(1);
        }
    }

    private record FakeExecutable(Runnable onRun, Runnable onClose) implements Executable {
        @Override
        public void run(MemorySegment[] inputs, MemorySegment[] outputs) {
            onRun.run();
        }

        @Override
        public void close() {
            onClose.run();
        }
    }

    /** A backend whose schedules do something else. */
    private static final class ScriptedBackend extends FakeBackend {
        final AtomicInteger prepared = new AtomicInteger();
        private final Runnable onRun;
        volatile Runnable onPrepare = () -> {};

        ScriptedBackend(Runnable onRun) {
            this.onRun = onRun;
        }

        @Override
        public Executable prepare(Schedule schedule, DataType type, ReduceOp op) {
            prepared.incrementAndGet();
            onPrepare.run();
            return new FakeExecutable(onRun, () -> {});
        }
    }
}
