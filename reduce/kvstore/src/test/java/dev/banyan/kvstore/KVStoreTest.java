package dev.banyan.kvstore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import dev.banyan.kvstore.StoreListener.Stage;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Step;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KVStoreTest {
    private static final Machine FOUR = Machine.preset("p3.16xlarge").subset(0, 1, 2, 3);
    private static final Config CONFIG = Config.builder()
            .set(HostBackend.THREADS, 2)
            .set(KVStore.FUSION_BYTES, 4096L)
            .build();

    /** A host backend that counts and can be held up. */
    private static final class Watched implements Backend {
        private final HostBackend host = new HostBackend(4, 2, Duration.ofMinutes(15));
        final AtomicLong runs = new AtomicLong();
        final AtomicLong bytes = new AtomicLong();
        volatile CountDownLatch gate = new CountDownLatch(0);
        volatile boolean failing;

        @Override
        public boolean inHostMemory() {
            return true;
        }

        @Override
        public String name() {
            return "watched";
        }

        @Override
        public MemorySegment allocate(int rank, long size) {
            return host.allocate(rank, size);
        }

        @Override
        public MemorySegment allocate(int rank, long size, Arena arena) {
            return host.allocate(rank, size, arena);
        }

        @Override
        public void copyToDevice(MemorySegment target, MemorySegment source) {
            host.copyToDevice(target, source);
        }

        @Override
        public void copyToHost(MemorySegment source, MemorySegment target) {
            host.copyToHost(source, target);
        }

        @Override
        public @Nullable String refusal(MemorySegment buffer, DataType type) {
            return host.refusal(buffer, type);
        }

        @Override
        public Executable prepare(Schedule schedule, DataType type, ReduceOp op) {
            Executable executable = host.prepare(schedule, type, op);
            long moved = 0;
            for (Chunk chunk : schedule.chunks()) {
                for (Step step : chunk.steps()) {
                    moved += chunk.bytes() * (step.sources().size() + 1);
                }
            }
            long each = moved;
            return new Executable() {
                @Override
                public void run(MemorySegment[] inputs, MemorySegment[] outputs) {
                    await(gate);
                    if (failing) {
                        throw new IllegalStateException("a link is down");
                    }
                    runs.incrementAndGet();
                    bytes.addAndGet(each);
                    executable.run(inputs, outputs);
                }

                @Override
                public void close() {
                    executable.close();
                }
            };
        }

        private static void await(CountDownLatch gate) {
            try {
                gate.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }

        @Override
        public void close() {
            host.close();
        }
    }

    /** Records the events of a listener; a list that cannot be changed makes it fail. */
    private static class Hearing implements StoreListener {
        private final List<String> heard;

        Hearing(List<String> heard) {
            this.heard = heard;
        }

        @Override
        public void initialized(KeyInfo key, long nanos) {
            heard.add("init " + key.key() + " at " + key.server());
        }

        @Override
        public void submitted(StoreOperation operation, long nanos) {
            heard.add(operation.id() + " " + operation.kind() + " "
                    + operation.key().key());
        }

        @Override
        public void began(StoreOperation operation, Stage stage, long nanos) {
            heard.add(operation.id() + " begins " + stage);
        }

        @Override
        public void ended(StoreOperation operation, Stage stage, long nanos) {
            heard.add(operation.id() + " ended " + stage);
        }

        @Override
        public void failed(StoreOperation operation, Throwable cause, long nanos) {
            heard.add(operation.id() + " failed");
        }
    }

    private final Watched backend = new Watched();
    private final Communicator communicator = Communicator.create(FOUR, CONFIG, backend);
    private KVStore store = KVStore.builder(communicator).open();

    @AfterEach
    void close() {
        backend.gate.countDown();
        store.close();
        communicator.close();
        backend.close();
    }

    private void useUpdater(Updater updater) {
        store.close();
        store = KVStore.builder(communicator).updater(updater).open();
    }

    private static void init(KVStore store, String key, int count) {
        store.init(Key.of(key), MemorySegment.ofArray(new float[count]), count, DataType.F32);
    }

    @ParameterizedTest
    @ValueSource(strings = {"device", "tree", "ring", "auto"})
    void pushesAndPullsKeysOfAllSizes(String type) {
        Random random = new Random(5);
        int[] counts = {1, 7, 100, 1024, 1025, 50_000};
        try (KVStore typed =
                KVStore.builder(communicator).type(StoreType.of(type)).open()) {
            List<Key> keys = new ArrayList<>();
            List<List<MemorySegment>> arrays = new ArrayList<>();
            List<List<MemorySegment>> pulled = new ArrayList<>();
            List<List<MemorySegment>> exchanged = new ArrayList<>();
            for (int count : counts) {
                keys.add(Key.of("key" + count));
                init(typed, "key" + count, count);
                arrays.add(Floats.random(communicator, count, random));
                pulled.add(Floats.zeros(communicator, count));
                exchanged.add(Floats.zeros(communicator, count));
            }
            var _ = typed.pushAll(keys, arrays, 0);
            var _ = typed.pullAll(keys, pulled, 1);
            var _ = typed.pushPullAll(keys, arrays, exchanged, 2);
            typed.waitAll();
            for (int k = 0; k < counts.length; k++) {
                float[] expected = Floats.sumByRank(arrays.get(k));
                for (int rank = 0; rank < 4; rank++) {
                    assertThat(Floats.mismatch(
                                    expected, Floats.values(pulled.get(k).get(rank)), 1e-5f))
                            .isEqualTo(-1);
                    assertThat(Floats.mismatch(
                                    expected, Floats.values(exchanged.get(k).get(rank)), 1e-5f))
                            .isEqualTo(-1);
                }
            }
        }
    }

    @Test
    void pullsTheFirstValueUntilSomethingIsPushed() {
        store.init(Key.of(3), MemorySegment.ofArray(new float[] {1, 2}), 2, DataType.F32);
        List<MemorySegment> results = Floats.zeros(communicator, 2);
        store.pull(Key.of(3), results).join();
        assertThat(results)
                .allSatisfy(result -> assertThat(Floats.values(result)).containsExactly(1, 2));
        store.pushPull(Key.of(3), Floats.byRank(communicator, 2), results).join();
        assertThat(results)
                .allSatisfy(result -> assertThat(Floats.values(result)).containsExactly(10, 100));
        store.pull(Key.of(3), results).join();
        assertThat(results)
                .allSatisfy(result -> assertThat(Floats.values(result)).containsExactly(1, 2));
        var _ = store.push(Key.of(3), Floats.byRank(communicator, 2));
        store.pull(Key.of(3), results).join();
        assertThat(results)
                .allSatisfy(result -> assertThat(Floats.values(result)).containsExactly(10, 100));
    }

    @Test
    void operationsOfAKeyTakeEffectInOrder() {
        init(store, "w", 100);
        List<MemorySegment> arrays = Floats.byRank(communicator, 100);
        List<CompletableFuture<Void>> futures = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            futures.add(store.pushPull(Key.of("w"), arrays, arrays, -i));
        }
        store.waitFor(Key.of("w"));
        assertThat(arrays)
                .allSatisfy(array -> assertThat(Floats.values(array)[0]).isEqualTo(10f * 256));
        // Their futures complete after the key is free, so that who depends on them may wait for it.
        CompletableFuture.allOf(futures.toArray(CompletableFuture<?>[]::new)).join();
    }

    @Test
    void theGreatestPriorityGoesFirst() {
        backend.gate = new CountDownLatch(1);
        List<String> heard = Collections.synchronizedList(new ArrayList<>());
        for (String key : List.of("busy", "low", "high", "middle", "high too")) {
            init(store, key, 2000);
        }
        store.setListener(new Hearing(heard));
        Map<String, Integer> priorities = new LinkedHashMap<>();
        priorities.put("busy", 9);
        priorities.put("low", 1);
        priorities.put("high", 3);
        priorities.put("middle", 2);
        priorities.put("high too", 3);
        priorities.forEach((key, priority) -> {
            var _ = store.pushPull(
                    Key.of(key), Floats.byRank(communicator, 2000), Floats.zeros(communicator, 2000), priority);
        });
        backend.gate.countDown();
        store.waitAll();
        assertThat(heard.stream().filter(news -> news.contains(" ended ")).skip(1))
                .containsExactly(
                        "2 ended ALL_REDUCE", "4 ended ALL_REDUCE", "3 ended ALL_REDUCE", "1 ended ALL_REDUCE");
    }

    @Test
    void smallKeysThatAreReadyShareACollective() {
        int[] counts = {5, 300, 20, 400, 900, 1};
        assertThat(runsOf(store, counts)).isBetween(3L, 4L);
        try (Communicator plain = Communicator.create(
                        FOUR,
                        Config.builder()
                                .set(HostBackend.THREADS, 2)
                                .set(KVStore.FUSION_BYTES, 0L)
                                .build(),
                        backend);
                KVStore unfused = KVStore.builder(plain).open()) {
            assertThat(runsOf(unfused, counts)).isEqualTo(counts.length + 1);
        }
    }

    /** Number of collectives of some keys that wait behind a large one. */
    private long runsOf(KVStore keys, int[] counts) {
        backend.gate = new CountDownLatch(1);
        long before = backend.runs.get();
        init(keys, "large", 5000);
        var _ = keys.pushPull(Key.of("large"), Floats.byRank(communicator, 5000), Floats.zeros(communicator, 5000), 1);
        List<List<MemorySegment>> results = new ArrayList<>();
        for (int k = 0; k < counts.length; k++) {
            init(keys, "key" + k, counts[k]);
            results.add(Floats.zeros(communicator, counts[k]));
            var _ = keys.pushPull(Key.of("key" + k), Floats.byRank(communicator, counts[k]), results.getLast());
        }
        backend.gate.countDown();
        keys.waitAll();
        for (int k = 0; k < counts.length; k++) {
            for (MemorySegment result : results.get(k)) {
                assertThat(Floats.values(result)[counts[k] - 1]).isEqualTo(100);
                assertThat(Floats.values(result)[0]).isEqualTo(counts[k] == 1 ? 100 : 10);
            }
        }
        return backend.runs.get() - before;
    }

    @Test
    void smallKeysThatArePushedAndPulledShareCollectivesToo() {
        backend.gate = new CountDownLatch(1);
        init(store, "large", 5000);
        var _ = store.push(Key.of("large"), Floats.byRank(communicator, 5000), 1);
        List<List<MemorySegment>> results = new ArrayList<>();
        for (int k = 0; k < 6; k++) {
            init(store, "key" + k, 100 + k);
            var _ = store.push(Key.of("key" + k), Floats.byRank(communicator, 100 + k));
            results.add(Floats.zeros(communicator, 100 + k));
            var _ = store.pull(Key.of("key" + k), results.getLast());
        }
        backend.gate.countDown();
        store.waitAll();
        for (int k = 0; k < 6; k++) {
            for (MemorySegment result : results.get(k)) {
                assertThat(Floats.values(result)).endsWith(10, 100).startsWith(10);
            }
        }
        assertThat(backend.runs).hasValueLessThan(1 + 2 * 6);
    }

    @Test
    void pushPullMovesFewerBytesThanPushAndPull() {
        int count = 100_000;
        init(store, "w", count);
        List<MemorySegment> arrays = Floats.byRank(communicator, count);
        List<MemorySegment> results = Floats.zeros(communicator, count);
        store.pushPull(Key.of("w"), arrays, results).join();
        long together = backend.bytes.getAndSet(0);
        var _ = store.push(Key.of("w"), arrays);
        store.pull(Key.of("w"), results).join();
        assertThat(together).isLessThan(backend.bytes.get());
    }

    @Test
    void theUpdaterGetsTheSumAndChangesTheValue() {
        useUpdater((key, pushed, value) -> {
            for (long i = 0; i < key.count(); i++) {
                value.setAtIndex(
                        ValueLayout.JAVA_FLOAT,
                        i,
                        value.getAtIndex(ValueLayout.JAVA_FLOAT, i)
                                - 0.5f * pushed.getAtIndex(ValueLayout.JAVA_FLOAT, i));
            }
        });
        store.init(Key.of("w"), MemorySegment.ofArray(new float[] {1, 2}), 2, DataType.F32);
        List<MemorySegment> gradients = Floats.byRank(communicator, 2);
        List<MemorySegment> weights = Floats.zeros(communicator, 2);
        store.pushPull(Key.of("w"), gradients, weights).join();
        assertThat(weights).allSatisfy(each -> assertThat(Floats.values(each)).containsExactly(-4, -48));
        var _ = store.push(Key.of("w"), gradients);
        store.pull(Key.of("w"), weights).join();
        assertThat(weights).allSatisfy(each -> assertThat(Floats.values(each)).containsExactly(-9, -98));
    }

    @Test
    void keysAreBalancedOverDevices() {
        int[] counts = {9000, 5000, 5000, 10, 20, 5000, 700, 600, 8000, 3000};
        for (int k = 0; k < counts.length; k++) {
            store.init(Key.of(k), MemorySegment.ofArray(new float[counts[k]]), counts[k], DataType.F32);
        }
        long[] bytes = new long[4];
        store.keys().forEach(key -> bytes[key.server()] += key.bytes());
        long total = LongStream.of(bytes).sum();
        assertThat(total).isEqualTo(4 * 36330);
        // Giving each key to the least laden server guarantees this.
        assertThat(LongStream.of(bytes).max()).matches(most -> most.orElseThrow() <= total / 4 + 36000);
        assertThat(store.keys().subList(3, 5)).extracting(KeyInfo::server).containsOnly(3);
    }

    @ParameterizedTest
    @ValueSource(strings = {"funnel", "concum", "depcha"})
    void typesOfAnotherModuleNameItsArtifact(String type) {
        assertThatThrownBy(() ->
                        KVStore.builder(communicator).type(StoreType.of(type)).open())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("stores of type \"" + type + "\" are in the artifact dev.banyan:banyan-mpi, which is not on"
                        + " the class path; add it to the program's dependencies");
    }

    @Test
    void refusesWrongKeysAndArraysWithOneClearSentence() {
        init(store, "w", 8);
        List<MemorySegment> good = Floats.byRank(communicator, 8);
        assertThatThrownBy(() -> StoreType.of("local"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "no type of store is called \"local\"; take device, tree, ring, auto, funnel, concum, depcha");
        assertThatThrownBy(() -> store.pull(Key.of("v"), good))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("pull of key v, which the store does not have; init it first");
        assertThatThrownBy(() -> store.push(Key.of(1), good))
                .hasMessage("push of key 1, which is an integer, but the keys of this store are strings");
        assertThatThrownBy(() -> init(store, "w", 8))
                .hasMessage("init of key w, which the store has already; push to it to change its value");
        assertThatThrownBy(() -> store.init(Key.of("x"), MemorySegment.ofArray(new float[2]), 3, DataType.F32))
                .hasMessage("init of key x: the initial value has 8 bytes, but 3 elements of F32, 12 bytes are needed");
        assertThatThrownBy(() -> store.push(Key.of("w"), good.subList(0, 3)))
                .hasMessage("push of key w with 3 arrays, but it needs 4, one for each rank");
        assertThatThrownBy(() -> store.pushPull(Key.of("w"), good, Floats.zeros(communicator, 9)))
                .hasMessage("push-pull of key w: the array of rank 0 has 36 bytes, but the key has 8 elements of F32,"
                        + " 32 bytes");
        assertThatThrownBy(() -> store.pull(
                        Key.of("w"),
                        good.stream().map(MemorySegment::asReadOnly).toList()))
                .hasMessageStartingWith("pull of key w: ")
                .hasMessageContaining("rank 0 is read-only");
        assertThatThrownBy(() -> new Key("07", true)).hasMessageContaining("Key.of of a number");
        assertThatThrownBy(() -> store.pushAll(List.of(Key.of("w")), List.of(), 0))
                .hasMessageContaining("give a list of arrays for each key");
        store.close();
        assertThatThrownBy(() -> store.push(Key.of("w"), good))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("the store is closed; create a new one");
    }

    @Test
    void failuresAreToldByFutureAndByWait() {
        init(store, "w", 5000);
        init(store, "v", 5000);
        List<MemorySegment> arrays = Floats.byRank(communicator, 5000);
        backend.failing = true;
        CompletableFuture<Void> first = store.push(Key.of("w"), arrays);
        CompletableFuture<Void> second = store.pull(Key.of("w"), arrays);
        for (CompletableFuture<Void> future : List.of(first, second)) {
            assertThatThrownBy(future::join)
                    .cause()
                    .isInstanceOf(KVStoreException.class)
                    .hasMessage("push of key w failed: a link is down");
        }
        backend.failing = false;
        store.pushPull(Key.of("v"), arrays, Floats.zeros(communicator, 5000)).join();
        assertThatThrownBy(() -> store.waitFor(Key.of("w")))
                .isInstanceOf(KVStoreException.class)
                .hasMessage("push of key w failed: a link is down");
        store.push(Key.of("w"), arrays).join();
        store.waitAll();
    }

    @Test
    void aRowIsRefusedAsAWhole() {
        init(store, "w", 8);
        List<MemorySegment> arrays = Floats.byRank(communicator, 8);
        List<Key> keys = List.of(Key.of("w"), Key.of("v"));
        assertThatThrownBy(() -> store.pushPullAll(keys, List.of(arrays, arrays), List.of(arrays, arrays), 0))
                .hasMessage("push-pull of key v, which the store does not have; init it first");
        store.waitAll();
        assertThat(backend.runs).hasValue(0);
    }

    @Test
    void callersMayChangeTheirLists() {
        init(store, "w", 8);
        List<MemorySegment> results = Floats.zeros(communicator, 8);
        List<MemorySegment> arrays = new ArrayList<>(Floats.byRank(communicator, 8));
        List<MemorySegment> wanted = new ArrayList<>(results);
        backend.gate = new CountDownLatch(1);
        CompletableFuture<Void> done = store.pushPull(Key.of("w"), arrays, wanted);
        arrays.clear();
        wanted.clear();
        backend.gate.countDown();
        done.join();
        assertThat(results)
                .allSatisfy(result ->
                        assertThat(Floats.values(result)).startsWith(10).endsWith(100));
    }

    @Test
    void aListenerThatThrowsKeepsNoOperationFromItsEnd() {
        store.setListener(new StoreListener() {
            @Override
            public void initialized(KeyInfo key, long nanos) {
                throw new ArithmeticException();
            }

            @Override
            public void submitted(StoreOperation operation, long nanos) {
                throw new ArithmeticException();
            }

            @Override
            public void began(StoreOperation operation, Stage stage, long nanos) {
                throw new ArithmeticException();
            }

            @Override
            public void ended(StoreOperation operation, Stage stage, long nanos) {
                throw new ArithmeticException();
            }

            @Override
            public void failed(StoreOperation operation, Throwable cause, long nanos) {
                throw new ArithmeticException();
            }
        });
        init(store, "v", 8);
        init(store, "w", 8);
        List<MemorySegment> arrays = Floats.byRank(communicator, 8);
        store.pushAll(List.of(Key.of("v"), Key.of("w")), List.of(arrays, arrays), 0)
                .join();
        store.waitAll();
        assertThat(backend.runs).hasPositiveValue();
    }

    @Test
    void cancellingAFutureDoesNotEndTheOperation() {
        init(store, "w", 8);
        backend.gate = new CountDownLatch(1);
        List<MemorySegment> arrays = Floats.byRank(communicator, 8);
        CompletableFuture<Void> cancelled = store.push(Key.of("w"), arrays);
        cancelled.cancel(true);
        CompletableFuture<Void> later = store.push(Key.of("w"), arrays);
        assertThat(later).isNotDone();
        backend.gate.countDown();
        later.join();
    }

    @Test
    void aFailureIsToldOnceAndEndsTheOperation() {
        List<String> heard = Collections.synchronizedList(new ArrayList<>());
        useUpdater((key, pushed, value) -> {
            throw new ArithmeticException();
        });
        store.setListener(new Hearing(heard));
        init(store, "w", 10);
        List<MemorySegment> arrays = Floats.byRank(communicator, 10);
        CompletableFuture<Void> failed = store.pushPull(Key.of("w"), arrays, arrays);
        assertThatThrownBy(failed::join).cause().hasMessage("push-pull of key w failed: java.lang.ArithmeticException");
        assertThatThrownBy(() -> store.waitFor(Key.of("w"))).isInstanceOf(KVStoreException.class);
        assertThat(heard)
                .containsExactly(
                        "init w at 0",
                        "0 PUSH_PULL w",
                        "0 begins REDUCE",
                        "0 ended REDUCE",
                        "0 begins UPDATE",
                        "0 failed");
    }

    @Test
    void noStageBeginsAfterOneThatFailed() {
        StoreOperation operation =
                new StoreOperation(0, StoreOperation.Kind.PUSH, new KeyInfo(Key.of(1), 0, 0, 1, DataType.F32), 0);
        Progress progress = new Progress(operation, null);
        progress.fail(new IllegalStateException("a link is down"));
        new Work(progress, Stage.UPDATE, true, () -> {
                    throw new AssertionError("the sum is not there");
                })
                .run();
        assertThat(progress.future()).isCompletedExceptionally();
    }

    @Test
    void aListenerThatFailsHoldsNothingUp() {
        init(store, "w", 10);
        store.setListener(new Hearing(List.of()) {
            @Override
            public void submitted(StoreOperation operation, long nanos) {}
        });
        List<MemorySegment> arrays = Floats.byRank(communicator, 10);
        store.pushPull(Key.of("w"), arrays, arrays).join();
        store.waitAll();
        assertThat(Floats.values(arrays.getFirst())).startsWith(10);
    }

    @Test
    void aFailingUpdaterFailsItsKeyAlone() {
        useUpdater((key, pushed, value) -> {
            if (key.key().name().equals("w")) {
                throw new ArithmeticException("not finite");
            }
        });
        init(store, "w", 10);
        init(store, "v", 10);
        List<MemorySegment> arrays = Floats.byRank(communicator, 10);
        CompletableFuture<Void> failed = store.pushPull(Key.of("w"), arrays, Floats.zeros(communicator, 10));
        store.pushPull(Key.of("v"), arrays, Floats.zeros(communicator, 10)).join();
        assertThatThrownBy(failed::join).cause().hasMessage("push-pull of key w failed: not finite");
        assertThatThrownBy(store::waitAll)
                .hasMessage("push-pull of key w failed: not finite")
                .hasCauseInstanceOf(ArithmeticException.class);
    }

    @Test
    void aListenerHearsEveryStage() {
        List<String> heard = Collections.synchronizedList(new ArrayList<>());
        useUpdater((key, pushed, value) -> {});
        store.setListener(new Hearing(heard));
        init(store, "w", 10);
        List<MemorySegment> arrays = Floats.byRank(communicator, 10);
        store.push(Key.of("w"), arrays).join();
        store.pull(Key.of("w"), arrays).join();
        store.setListener(null);
        store.pull(Key.of("w"), arrays).join();
        assertThat(heard)
                .containsExactly(
                        "init w at 0",
                        "0 PUSH w",
                        "0 begins REDUCE",
                        "0 ended REDUCE",
                        "0 begins UPDATE",
                        "0 ended UPDATE",
                        "1 PULL w",
                        "1 begins BROADCAST",
                        "1 ended BROADCAST");
    }

    /** Two threads join as processes do; neither of them holds all ranks. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void aCommunicatorWhoseRanksOtherProcessesHoldIsRefused(@TempDir Path folder) throws Exception {
        try (ExecutorService threads = Executors.newCachedThreadPool()) {
            List<Future<?>> running = new ArrayList<>();
            for (int process = 0; process < 2; process++) {
                Config config = Config.builder()
                        .set("BANYAN_RANK", Integer.toString(process))
                        .set("BANYAN_WORLD_SIZE", "2")
                        .set("BANYAN_RENDEZVOUS", folder.resolve("job").toString())
                        .set("BANYAN_TIMEOUT_MS", "900000")
                        .build();
                running.add(threads.submit(() -> {
                    try (Communicator joined = Communicator.join(FOUR.subset(0, 1), config, 1)) {
                        assertThatThrownBy(() -> KVStore.builder(joined).open())
                                .isInstanceOf(IllegalArgumentException.class)
                                .hasMessage("a store of type auto over a communicator of 2 ranks, of which this process"
                                        + " holds only 1; open it over the devices of this process by"
                                        + " Communicator.onHost or onGpus, with the type funnel, concum or depcha for a"
                                        + " store over all processes");
                    }
                }));
            }
            for (Future<?> each : running) {
                each.get();
            }
        }
    }
}
