package dev.banyan.mpi;

import static dev.banyan.mpi.WorldProgram.require;

import dev.banyan.config.Config;
import dev.banyan.kvstore.KVStore;
import dev.banyan.kvstore.KVStoreException;
import dev.banyan.kvstore.Key;
import dev.banyan.kvstore.StoreType;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.reduce.optimizer.Optimizer;
import dev.banyan.schedule.type.DataType;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.IntStream;

/** Stores over all processes: what they compute, also with random delays in all stages, and what they refuse. */
final class StoresProgram {
    private static final List<String> TYPES = List.of("funnel", "concum", "depcha");

    private final World world;
    private final Arena arena = Arena.ofShared();
    private final int devices;
    private final Communicator local;

    private StoresProgram(World world, int devices) {
        this.world = world;
        this.devices = devices;
        local = Communicator.onHost(
                Machine.preset("p3.16xlarge").subset(IntStream.range(0, devices).toArray()),
                Config.builder().set(HostBackend.THREADS, 2).load());
    }

    /**
     * Returns the number of swaps that were planted and found.
     *
     * @param seeds number of seeds of delays
     * @param keys the part of the model's keys that delays meet: one of so many
     */
    static long run(World world, int seeds, int keys) {
        for (int devices : new int[] {1, 2}) {
            StoresProgram program = new StoresProgram(world, devices);
            for (String type : TYPES) {
                program.values(type);
                program.refusals(type);
            }
            program.local.close();
        }
        try (DelayedSteps steps = new DelayedSteps(world, keys)) {
            for (int seed = 0; seed < seeds; seed++) {
                int chosen = seed;
                List<Long> hashes =
                        TYPES.stream().map(type -> steps.run(type, chosen)).toList();
                require(
                        hashes.stream().distinct().count() == 1,
                        "the same bits from all types with seed " + seed + ": " + hashes);
                world.all().agree("has results with hash " + hashes.getFirst());
            }
            return steps.found();
        }
    }

    private List<MemorySegment> arrays(int count) {
        return IntStream.range(0, devices)
                .mapToObj(_ -> arena.allocate((long) count * Float.BYTES, 64))
                .toList();
    }

    private static void fill(MemorySegment array, float value) {
        for (long i = 0; i < array.byteSize() / Float.BYTES; i++) {
            array.setAtIndex(ValueLayout.JAVA_FLOAT, i, value + i % 3);
        }
    }

    private static void requireAll(List<MemorySegment> arrays, float factor, float value, String what) {
        for (MemorySegment array : arrays) {
            for (long i = 0; i < array.byteSize() / Float.BYTES; i++) {
                float found = array.getAtIndex(ValueLayout.JAVA_FLOAT, i);
                float expected = factor * (value + i % 3);
                require(found == expected, what + ": element " + i + " is " + found + ", not " + expected);
            }
        }
    }

    /** Push, pull and push-pull, with and without an updater. */
    private void values(String type) {
        int all = devices * world.size();
        List<MemorySegment> arrays = arrays(1001);
        List<MemorySegment> results = arrays(1001);
        Key key = Key.of("weight");
        for (boolean updates : new boolean[] {false, true}) {
            KVStore.Builder builder = KVStore.builder(local).type(StoreType.of(type));
            try (KVStore store = (updates ? builder.optimizer(Optimizer.sgd(0.5)) : builder).open()) {
                fill(arrays.getFirst(), world.rank() + 7);
                store.init(key, arrays.getFirst(), 1001, DataType.F32);
                store.pull(key, results).join();
                requireAll(results, 1, 7, type + ": the first value is rank 0's");
                arrays.forEach(array -> fill(array, 2));
                store.push(key, arrays).join();
                store.push(key, arrays).join();
                store.pull(key, results).join();
                if (updates) {
                    fill(arrays.getFirst(), 7);
                    MemorySegment value = arrays.getFirst();
                    for (long i = 0; i < 1001; i++) {
                        float pushed = all * (2F + i % 3);
                        float expected = value.getAtIndex(ValueLayout.JAVA_FLOAT, i) - 0.5F * pushed - 0.5F * pushed;
                        for (MemorySegment result : results) {
                            require(
                                    result.getAtIndex(ValueLayout.JAVA_FLOAT, i) == expected,
                                    type + ": two updates of element " + i);
                        }
                    }
                } else {
                    requireAll(results, all, 2, type + ": the last push's sum");
                    arrays.forEach(array -> fill(array, 3));
                    store.pushPull(key, arrays, results).join();
                    requireAll(results, all, 3, type + ": a push-pull's sum");
                    store.pushPull(key, arrays, arrays).join();
                    requireAll(arrays, all, 3, type + ": a push-pull in place");
                    store.pull(key, results).join();
                    requireAll(results, all, 2, type + ": a push-pull leaves the value alone");
                }
                store.waitAll();
            }
        }
    }

    /** Keys in another order, of another length or type than on rank 0. */
    private void refusals(String type) {
        if (world.size() == 1) {
            return;
        }
        boolean odd = world.rank() == world.size() - 1;
        List<MemorySegment> arrays = arrays(64);
        try (KVStore store = KVStore.builder(local).type(StoreType.of(type)).open()) {
            for (int key = 0; key < 6; key++) {
                store.init(Key.of(key), arrays.getFirst(), 64, DataType.F32);
            }
            for (int first = 0; first < 6; first += 2) {
                List<Integer> order = new ArrayList<>(List.of(first, first + 1));
                if (odd) {
                    Collections.reverse(order);
                }
                List<CompletableFuture<Void>> futures = order.stream()
                        .map(key -> store.pushPull(Key.of(key), arrays, arrays))
                        .toList();
                String message = failure(CompletableFuture.allOf(futures.toArray(CompletableFuture<?>[]::new)));
                require(
                        message.contains("key " + first + " ")
                                && message.contains("key " + (first + 1) + " ")
                                && message.contains("in one order"),
                        type + " reports a swap: " + message);
                try {
                    store.waitAll();
                    throw new AssertionError("not so: a barrier reports the swap");
                } catch (KVStoreException e) {
                    require(e.getMessage() != null, "it has a message");
                }
            }
            int count = odd ? 32 : 64;
            String length = failure(
                    () -> store.init(Key.of(100), arrays.getFirst().asSlice(0, count * 4L), count, DataType.F32));
            require(length.contains("64 F32") && length.contains("32 F32"), type + " reports lengths: " + length);
            DataType other = odd ? DataType.I32 : DataType.F32;
            String kind = failure(() -> store.init(Key.of(101), arrays.getFirst(), 64, other));
            require(kind.contains("64 F32") && kind.contains("64 I32"), type + " reports types: " + kind);
            store.pushPull(Key.of(1), arrays, arrays).join();
        }
    }

    /** Returns the message of a call that must fail. */
    static String failure(CompletableFuture<Void> future) {
        return failure(future::join);
    }

    private static String failure(Runnable call) {
        try {
            call.run();
        } catch (CompletionException | OrderException e) {
            return String.valueOf(e.getMessage());
        }
        throw new AssertionError("not so: it fails");
    }
}
