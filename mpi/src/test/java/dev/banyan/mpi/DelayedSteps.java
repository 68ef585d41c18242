package dev.banyan.mpi;

import dev.banyan.config.Config;
import dev.banyan.kvstore.KVStore;
import dev.banyan.kvstore.KVStoreException;
import dev.banyan.kvstore.Key;
import dev.banyan.kvstore.KeyInfo;
import dev.banyan.kvstore.StoreListener;
import dev.banyan.kvstore.StoreOperation;
import dev.banyan.kvstore.StoreType;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.reduce.optimizer.Optimizer;
import dev.banyan.schedule.type.DataType;
import dev.banyan.topology.Machine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Training steps on the keys of resnet-50, with random delays before and after every reduction inside a process, every
 * sum between processes, every update and every broadcast. What comes after a sum delays the thread that calls MPI. In
 * one step two keys change places in one process.
 */
final class DelayedSteps implements AutoCloseable {
    private static final int DEVICES = 2;
    /** Keys are so many times as short as those of the model, or of one element. */
    private static final int SCALE = 256;

    private static final long LONGEST_DELAY_NANOS = TimeUnit.MICROSECONDS.toNanos(250);

    private final World world;
    private final Communicator local;
    private final List<Integer> lengths;
    private final List<Key> keys;
    private final Arena arena = Arena.ofShared();
    private final List<List<MemorySegment>> arrays;
    private int found;

    /** @param part of the model's keys: one of so many */
    DelayedSteps(World world, int part) {
        this.world = world;
        List<Integer> all = lengths();
        lengths = IntStream.range(0, all.size())
                .filter(key -> key % part == 0)
                .mapToObj(all::get)
                .toList();
        keys = IntStream.range(0, lengths.size()).mapToObj(Key::of).toList();
        arrays = lengths.stream()
                .map(length -> IntStream.range(0, DEVICES)
                        .mapToObj(_ -> arena.allocate((long) length * Float.BYTES, 64))
                        .toList())
                .toList();
        local = Communicator.onHost(
                Machine.preset("p3.16xlarge").subset(IntStream.range(0, DEVICES).toArray()),
                Config.builder().set(HostBackend.THREADS, 2).load());
    }

    /** Reads the bench's table of lengths: N is a key of N elements, NxR is R such keys. */
    private static List<Integer> lengths() {
        try (Stream<String> table = Files.lines(Path.of(System.getProperty("banyan.workloads", "")))) {
            List<Integer> found = table.dropWhile(line -> !line.startsWith("model resnet-50 "))
                    .skip(1)
                    .takeWhile(line -> !line.isBlank())
                    .flatMap(line -> Stream.of(line.split(" ", -1)))
                    .map(run -> run.split("x", -1))
                    .flatMap(run -> Collections.nCopies(
                            run.length == 1 ? 1 : Integer.parseInt(run[1]),
                            Math.max(1, Integer.parseInt(run[0]) / SCALE))
                            .stream())
                    .toList();
            WorldProgram.require(found.size() == 157, "157 keys of resnet-50, but " + found.size());
            return found;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the number of planted swaps that were found. */
    int found() {
        return found;
    }

    @Override
    public void close() {
        local.close();
        arena.close();
    }

    /** Returns a hash of all results. */
    long run(String type, int seed) {
        Random delays = new Random(31L * seed + world.rank());
        Random values = new Random(1000L * seed + world.rank());
        // The same in all processes.
        Random places = new Random(77L * seed + type.hashCode());
        long hash = 0;
        try (KVStore store = opened(builder(type), delays)) {
            fill(values);
            init(store);
            pushPull(store, false);
            findSwap(store, places);
            fill(values);
            pushPull(store, true);
            hash = hash(hash);
        }
        try (KVStore store = opened(builder(type).optimizer(Optimizer.sgd(0.5)), delays)) {
            init(store);
            for (int round = 0; round < 2; round++) {
                fill(values);
                for (int key = keys.size() - 1; key >= 0; key--) {
                    CompletableFuture<Void> _ = store.push(keys.get(key), arrays.get(key), -key);
                }
                pulled(store);
                hash = hash(hash);
            }
        }
        return hash;
    }

    private KVStore.Builder builder(String type) {
        return KVStore.builder(local).type(StoreType.of(type));
    }

    private static KVStore opened(KVStore.Builder builder, Random delays) {
        KVStore store = builder.open();
        store.setListener(new Delays(delays));
        return store;
    }

    private void fill(Random values) {
        for (List<MemorySegment> devices : arrays) {
            for (MemorySegment array : devices) {
                for (long i = 0; i < array.byteSize() / Float.BYTES; i++) {
                    array.setAtIndex(ValueLayout.JAVA_FLOAT, i, values.nextFloat(-1, 1));
                }
            }
        }
    }

    private void init(KVStore store) {
        for (int key = 0; key < keys.size(); key++) {
            store.init(keys.get(key), arrays.get(key).getFirst(), lengths.get(key), DataType.F32);
        }
    }

    /** @param twice without waiting in between */
    private void pushPull(KVStore store, boolean twice) {
        List<Integer> order = backwards();
        List<CompletableFuture<Void>> futures = new ArrayList<>(pushPull(store, order));
        if (twice) {
            futures.addAll(pushPull(store, order));
        }
        join(futures);
    }

    private List<CompletableFuture<Void>> pushPull(KVStore store, List<Integer> order) {
        return order.stream()
                .map(key -> store.pushPull(keys.get(key), arrays.get(key), arrays.get(key), -key))
                .toList();
    }

    private List<Integer> backwards() {
        return IntStream.range(0, keys.size())
                .mapToObj(key -> keys.size() - 1 - key)
                .collect(Collectors.toCollection(ArrayList::new));
    }

    private void pulled(KVStore store) {
        join(backwards().stream()
                .map(key -> store.pull(keys.get(key), arrays.get(key), -key))
                .toList());
    }

    private static void join(List<CompletableFuture<Void>> futures) {
        CompletableFuture.allOf(futures.toArray(CompletableFuture<?>[]::new)).join();
    }

    /** Two keys change places in one process; all processes report both. */
    private void findSwap(KVStore store, Random places) {
        int first = places.nextInt(keys.size() - 1);
        int second = places.nextInt(first + 1, keys.size());
        int where = places.nextInt(world.size());
        List<Integer> order = backwards();
        List<Integer> named = List.of(order.get(first), order.get(second));
        if (world.rank() == where) {
            Collections.swap(order, first, second);
        }
        List<CompletableFuture<Void>> futures = pushPull(store, order);
        join(futures.subList(0, first));
        String message = StoresProgram.failure(futures.get(first));
        for (int key : named) {
            WorldProgram.require(
                    message.contains("key " + key + " ") && message.contains("in one order"),
                    "a swap of keys " + named + " is reported: " + message);
        }
        try {
            store.waitAll();
            throw new AssertionError("not so: a barrier reports the swap of keys " + named);
        } catch (KVStoreException e) {
            found++;
        }
    }

    private long hash(long before) {
        long hash = before;
        for (List<MemorySegment> devices : arrays) {
            for (MemorySegment array : devices) {
                for (long i = 0; i < array.byteSize() / Integer.BYTES; i++) {
                    hash = 31 * hash + array.getAtIndex(ValueLayout.JAVA_INT, i);
                }
            }
        }
        return hash;
    }

    /** Lets one stage of four take longer at its begin, and at its end. */
    private record Delays(Random random) implements StoreListener {
        private void delay() {
            long nanos;
            synchronized (random) {
                nanos = random.nextInt(4) == 0 ? random.nextLong(LONGEST_DELAY_NANOS) : 0;
            }
            long end = System.nanoTime() + nanos;
            for (long left = nanos; left > 0; left = end - System.nanoTime()) {
                LockSupport.parkNanos(this, left);
            }
        }

        @Override
        public void initialized(KeyInfo key, long nanos) {}

        @Override
        public void submitted(StoreOperation operation, long nanos) {
            delay();
        }

        @Override
        public void began(StoreOperation operation, Stage stage, long nanos) {
            delay();
        }

        @Override
        public void ended(StoreOperation operation, Stage stage, long nanos) {
            delay();
        }

        @Override
        public void failed(StoreOperation operation, Throwable cause, long nanos) {}
    }
}
