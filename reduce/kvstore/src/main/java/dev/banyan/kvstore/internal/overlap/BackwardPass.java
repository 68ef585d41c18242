package dev.banyan.kvstore.internal.overlap;

import dev.banyan.kvstore.KVStore;
import dev.banyan.kvstore.Key;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Simulates backward passes on a store, to measure how much of the communication they hide. The last layer's gradient
 * comes first; each of k keys takes 1/k of the time of the computation. The thread sleeps for that time, in place of
 * accelerators that compute. Keys of first layers have the greatest priority, as the next forward pass needs them
 * first.
 *
 * <p>Not safe for use from several threads at once.
 */
public final class BackwardPass {
    private final KVStore store;
    private final List<Key> keys;
    private final List<List<MemorySegment>> gradients;

    /**
     * @param keys from the first layer to the last
     * @param gradients for each key one array of each rank, push-pulled in place
     * @throws IllegalArgumentException if there are other numbers of keys and gradients, or none
     */
    public BackwardPass(KVStore store, List<Key> keys, List<List<MemorySegment>> gradients) {
        if (keys.isEmpty() || keys.size() != gradients.size()) {
            throw new IllegalArgumentException("a backward pass of " + keys.size() + " keys and the gradients of "
                    + gradients.size() + "; give at least one key, and gradients for each");
        }
        this.store = store;
        this.keys = List.copyOf(keys);
        this.gradients = List.copyOf(gradients);
    }

    /**
     * Runs one pass without computation and one with it.
     *
     * @param compute how long the computation takes
     */
    public Overlap play(Duration compute) {
        long alone = step(Duration.ZERO);
        long together = step(compute);
        return new Overlap(compute.toNanos() / 1e3, alone / 1e3, together / 1e3);
    }

    /**
     * Runs one pass and waits until all gradients are sent.
     *
     * @param compute how long the computation takes
     * @return time in ns from the start of the computation until all gradients are sent
     */
    public long step(Duration compute) {
        long computeNanos = TimeUnit.NANOSECONDS.convert(compute);
        CompletableFuture<?>[] pending = new CompletableFuture<?>[keys.size()];
        long start = System.nanoTime();
        for (int released = 1; released <= pending.length; released++) {
            long due = start + computeNanos / pending.length * released;
            for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
                LockSupport.parkNanos(this, left);
            }
            int layer = pending.length - released;
            pending[layer] = store.pushPull(keys.get(layer), gradients.get(layer), gradients.get(layer), -layer);
        }
        CompletableFuture.allOf(pending).join();
        return System.nanoTime() - start;
    }
}
