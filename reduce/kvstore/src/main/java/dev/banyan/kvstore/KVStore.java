package dev.banyan.kvstore;

import dev.banyan.config.Setting;
import dev.banyan.kvstore.StoreOperation.Kind;
import dev.banyan.kvstore.internal.engine.DependencyEngine;
import dev.banyan.kvstore.internal.engine.EngineException;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.Completions;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.reduce.optimizer.Optimizer;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Named arrays that all devices of a communicator push to and pull from, as MXNet's KVStore has them. A push sums up
 * one array of every device; the sum becomes the key's value, or an optimizer or updater of the {@link Builder}
 * changes the value by the sum. A pull copies the value to one array of every device. A push-pull
 * does both and moves fewer bytes, since it knows the arrays of the result. The store only sums: for a mean over the
 * ranks give the optimizer a factor of 1/n on gradients.
 *
 * <p><b>Arrays.</b> An operation takes a list of arrays, one per rank: buffers of the communicator, e.g. of {@link
 * Communicator#allocateAll}, of exactly the key's length. They must not be touched, nor their arenas closed, until the
 * operation has ended.
 *
 * <p><b>Order.</b> Pushes, pulls and push-pulls return at once, with a future, except in a store
 * of type {@code funnel}. Operations of one key take effect in the order of the calls. Operations of different keys
 * take effect in any order: among those that can begin, the greatest priority goes first. Give the layers that the next
 * forward pass needs first the greatest priority. Returned futures are copies; their dependents run on threads that run
 * nothing else.
 *
 * <p><b>Values</b> live on one device each, the key's server; all devices hold about as many bytes. A push-pull
 * without an optimizer or updater does not change the value. Optimizers run where the values are, and keep their state
 * there as long as the communicator lives. Updaters run on host memory; where devices have memory of their own, sums
 * and values are copied there and back.
 *
 * <p><b>Fusion.</b> Keys of up to BANYAN_FUSION_BYTES that can begin and follow each other share one collective. That
 * may change the order of summation, hence the last bits; with BANYAN_REPRODUCIBLE=1 it does not. Where devices have
 * memory of their own, nothing is copied together: keys of any length that can begin, up to 64 MiB, are submitted as
 * one batch, sums, updates and results one behind another on the devices.
 *
 * <p><b>Failures.</b> A wrong key or array is rejected with an IllegalArgumentException before anything is done. If an
 * operation fails later, its future completes with a {@link KVStoreException}, and so do the futures of the key's later
 * operations, until the program calls {@link #waitFor} or {@link #waitAll}: that call throws the failure, and the key
 * can be used again. Its value is undefined after a failed push. Keys that share a collective or a batch fail together.
 * In a store over several processes, where keys wait for each other, only {@link #waitAll} makes keys usable again. A
 * program that ignores futures therefore sees every failure at its next {@code waitAll}.
 *
 * <p><b>Cost.</b> A key's plan is made by its first operation of a kind and kept by the communicator, as are the
 * buffers that the store needs; the steady state allocates no device memory. All of the store's memory is the
 * communicator's, and freed with it.
 *
 * <p>Safe for use from any thread.
 */
public final class KVStore implements AutoCloseable {
    /** The greatest length of fused keys and of their collective, in bytes; 0 turns fusion off. */
    public static final Setting<Long> FUSION_BYTES = Setting.bytesOr(
            "off",
            0,
            "BANYAN_FUSION_BYTES",
            64,
            256 << 10,
            "Lets a store's keys up to this size share collectives up to this size.");

    static final Setting<Long> BIG_ARRAY_BOUND = Setting.elements(
            "MXNET_KVSTORE_BIGARRAY_BOUND", 0, 1_000_000, "Is accepted for MXNet's sake, without effect.");

    private final Communicator communicator;
    private final StoreType type;
    private final DependencyEngine engine;
    private final @Nullable StoreLink link;
    private final Stages stages;
    private final Servers servers;
    /** The entries by key, in the order of their initialisation. It is also the lock of all mutable state. */
    private final Map<Key, Entry> entries = new LinkedHashMap<>();

    private @Nullable StoreListener listener;
    private long operations;
    private boolean closed;

    private KVStore(
            StoreType type,
            Communicator communicator,
            DependencyEngine engine,
            @Nullable StoreLink link,
            Stages stages,
            Servers servers) {
        this.type = type;
        this.communicator = communicator;
        this.engine = engine;
        this.link = link;
        this.stages = stages;
        this.servers = servers;
    }

    /**
     * Returns a builder of a store over the devices of a communicator, which may be used for other things too. {@link
     * #close} leaves the communicator open; close it after the store.
     */
    public static Builder builder(Communicator communicator) {
        return new Builder(communicator);
    }

    /** Opens stores. Not safe for use from several threads at once. */
    public static final class Builder {
        private final Communicator communicator;
        private StoreType type = StoreType.AUTO;
        private @Nullable Optimizer optimizer;
        private @Nullable Updater updater;
        private long fusionBytes;

        private Builder(Communicator communicator) {
            this.communicator = communicator;
            fusionBytes = communicator.config().get(FUSION_BYTES);
        }

        /** Sets how keys are sent; {@link StoreType#AUTO} if it is not called. */
        public Builder type(StoreType newType) {
            type = Objects.requireNonNull(newType, "newType");
            return this;
        }

        /**
         * Sets the optimizer, which changes a key's value by each pushed sum; without one or an updater, the sum
         * becomes the value. Keys are then of floating types. It takes the place of an updater.
         */
        public Builder optimizer(Optimizer newOptimizer) {
            optimizer = Objects.requireNonNull(newOptimizer, "newOptimizer");
            updater = null;
            return this;
        }

        /**
         * Sets an updater in Java, which changes a key's value by each pushed sum. It takes the place of an optimizer.
         * Where devices have memory of their own, sum and value are copied to the host and the value is copied back at
         * each push: an {@link Optimizer} needs none of these copies.
         *
         * @param newUpdater one that no other store has
         */
        public Builder updater(Updater newUpdater) {
            updater = Objects.requireNonNull(newUpdater, "newUpdater");
            optimizer = null;
            return this;
        }

        /**
         * Sets the greatest length of keys that share a collective; BANYAN_FUSION_BYTES if it is not called.
         *
         * @param bytes at least 0; 0 turns fusion off
         */
        public Builder fusionBytes(long bytes) {
            if (bytes < 0) {
                throw new IllegalArgumentException(
                        "fusion of keys up to " + bytes + " bytes; give 0, which turns fusion off, or more");
            }
            fusionBytes = bytes;
            return this;
        }

        /**
         * Opens the store, without keys.
         *
         * @throws IllegalArgumentException if the type's module is not on the class path, or other processes hold some
         *     of the communicator's ranks
         * @throws RuntimeException if the type spans several processes and they cannot be reached
         */
        public KVStore open() {
            if (communicator.ranksHeld() < communicator.size()) {
                throw new IllegalArgumentException("a store of type " + type.label() + " over a communicator of "
                        + communicator.size() + " ranks, of which this process holds only " + communicator.ranksHeld()
                        + "; open it over the devices of this process by Communicator.onHost or onGpus, with the type"
                        + " funnel, concum or depcha for a store over all processes");
            }
            DependencyEngine engine = new DependencyEngine(communicator.config().get(HostBackend.THREADS));
            try {
                StoreLink link = type.overProcesses() ? links(type).create(type, communicator, engine) : null;
                return new KVStore(
                        type,
                        communicator,
                        engine,
                        link,
                        new Stages(communicator, engine, link, fusionBytes, optimizer, updater),
                        new Servers(communicator.size(), fusionBytes));
            } catch (RuntimeException | Error e) {
                engine.close();
                throw e;
            }
        }

        private static StoreLink.Provider links(StoreType type) {
            return ServiceLoader.load(StoreLink.Provider.class, StoreLink.class.getClassLoader())
                    .findFirst()
                    .orElseThrow(() -> new IllegalArgumentException("stores of type \"" + type.label()
                            + "\" are in the artifact dev.banyan:banyan-mpi, which is not on the class path; add it to"
                            + " the program's dependencies"));
        }
    }

    /**
     * Replaces the optimizer for the operations that are called from now on, e.g. by one with another learning rate.
     *
     * @param newOptimizer of the same class and with the same number of moments as the builder's
     * @throws IllegalArgumentException if the keys have no state for this optimizer
     */
    public void setOptimizer(Optimizer newOptimizer) {
        synchronized (entries) {
            stages.replaceOptimizer(newOptimizer);
        }
    }

    /**
     * Sets the listener of operations from now on.
     *
     * @param newListener receives operations and their stages; null for none
     */
    public void setListener(@Nullable StoreListener newListener) {
        synchronized (entries) {
            listener = newListener;
        }
    }

    /**
     * Adds a key and returns when it has its first value. In a store over several processes all processes add it, and
     * it gets the value of the first one.
     *
     * @param key not yet in the store
     * @param initial the first value: host memory of exactly {@code count} elements, e.g. {@code
     *     MemorySegment.ofArray(floats)}
     * @param count length in elements, at least 0
     * @param elements their type
     * @throws IllegalArgumentException if the store has the key already, the key is a string among integers or an
     *     integer among strings, or the initial value has another length
     * @throws IllegalStateException if the store is closed
     * @throws RuntimeException if the other processes add another key or cannot be reached; the key is not added then
     */
    public void init(Key key, MemorySegment initial, long count, DataType elements) {
        if (count < 0 || count > Long.MAX_VALUE / elements.bytes()) {
            throw new IllegalArgumentException("init of key " + key + " with " + count + " elements of " + elements
                    + "; give 0 or more, and no more than 64 bits count bytes");
        }
        long bytes = count * elements.bytes();
        if (initial.byteSize() != bytes) {
            throw new IllegalArgumentException("init of key " + key + ": the initial value has " + initial.byteSize()
                    + " bytes, but " + elementsAndBytes(count, elements) + " are needed");
        }
        synchronized (entries) {
            checkOpen();
            checkKind("init", key);
            if (entries.containsKey(key)) {
                throw new IllegalArgumentException(
                        "init of key " + key + ", which the store has already; push to it to change its value");
            }
            int server = servers.next(bytes);
            KeyInfo info = new KeyInfo(key, entries.size(), server, count, elements);
            MemorySegment value = communicator.allocate(server, bytes);
            communicator.copyToDevice(value, link == null ? initial : first(info, initial));
            entries.put(key, new Entry(info, type.way(count, server, communicator.config()), engine.variable(), value));
            if (listener != null) {
                Progress.report(listener, to -> to.initialized(info, System.nanoTime()), info);
            }
        }
    }

    private MemorySegment first(KeyInfo info, MemorySegment initial) {
        MemorySegment value = Arena.ofAuto().allocate(info.bytes(), Long.BYTES).copyFrom(initial);
        Objects.requireNonNull(link).first(info, value);
        return value;
    }

    /** Returns what the store knows of each key, in the order of their initialisation. */
    public List<KeyInfo> keys() {
        synchronized (entries) {
            return entries.values().stream().map(entry -> entry.info).toList();
        }
    }

    /** Does the same as {@link #push(Key, List, int)} with priority 0. */
    public CompletableFuture<Void> push(Key key, List<MemorySegment> arrays) {
        return push(key, arrays, 0);
    }

    /**
     * Sums up one array of every device, and makes the sum the key's value or gives it to the optimizer or updater.
     *
     * @param key a key of the store
     * @param arrays one per rank, each of exactly the key's length
     * @param priority any integer; operations of greater priority go first
     * @return completes when the value has changed
     * @throws IllegalArgumentException if there is no such key, or an array does not fit
     * @throws IllegalStateException if the store is closed
     */
    public CompletableFuture<Void> push(Key key, List<MemorySegment> arrays, int priority) {
        Progress progress;
        synchronized (entries) {
            progress = checkedPush(key, arrays, priority).get();
        }
        return Completions.copyOf(progress.carryOn());
    }

    /** Does the same as {@link #pull(Key, List, int)} with priority 0. */
    public CompletableFuture<Void> pull(Key key, List<MemorySegment> arrays) {
        return pull(key, arrays, 0);
    }

    /**
     * Copies the key's value to one array of every device.
     *
     * @param key a key of the store
     * @param arrays one per rank, each of exactly the key's length
     * @param priority any integer; operations of greater priority go first
     * @return completes when all arrays have the value
     * @throws IllegalArgumentException if there is no such key, or an array does not fit
     * @throws IllegalStateException if the store is closed
     */
    public CompletableFuture<Void> pull(Key key, List<MemorySegment> arrays, int priority) {
        Progress progress;
        synchronized (entries) {
            progress = checkedPull(key, arrays, priority).get();
        }
        return Completions.copyOf(progress.carryOn());
    }

    /** Does the same as {@link #pushPull(Key, List, List, int)} with priority 0. */
    public CompletableFuture<Void> pushPull(Key key, List<MemorySegment> arrays, List<MemorySegment> results) {
        return pushPull(key, arrays, results, 0);
    }

    /**
     * Sums up one array of every device. With an optimizer or updater, which changes the key's value by the sum, every
     * device gets the new value. Without one, every device gets the sum by one allreduce, and the key's value stays as
     * it was.
     *
     * @param key a key of the store
     * @param arrays one per rank, each of exactly the key's length
     * @param results one per rank, each of exactly the key's length; may be the arrays
     * @param priority any integer; operations of greater priority go first
     * @return completes when all results are complete
     * @throws IllegalArgumentException if there is no such key, or an array does not fit
     * @throws IllegalStateException if the store is closed
     */
    public CompletableFuture<Void> pushPull(
            Key key, List<MemorySegment> arrays, List<MemorySegment> results, int priority) {
        Progress progress;
        synchronized (entries) {
            progress = checkedPushPull(key, arrays, results, priority).get();
        }
        return Completions.copyOf(progress.carryOn());
    }

    /**
     * Pushes several keys, each as {@link #push(Key, List, int)} does.
     *
     * @param keys keys of the store
     * @param arrays for each key the arrays of all ranks
     * @param priority any integer; operations of greater priority go first
     * @return completes when all values have changed
     * @throws IllegalArgumentException if a key or an array does not fit; none is pushed then
     */
    public CompletableFuture<Void> pushAll(List<Key> keys, List<List<MemorySegment>> arrays, int priority) {
        checkRow("push", keys, arrays);
        return all(keys, i -> checkedPush(keys.get(i), arrays.get(i), priority));
    }

    /**
     * Pulls several keys, each as {@link #pull(Key, List, int)} does.
     *
     * @param keys keys of the store
     * @param arrays for each key the arrays of all ranks
     * @param priority any integer; operations of greater priority go first
     * @return completes when all arrays have their values
     * @throws IllegalArgumentException if a key or an array does not fit; none is pulled then
     */
    public CompletableFuture<Void> pullAll(List<Key> keys, List<List<MemorySegment>> arrays, int priority) {
        checkRow("pull", keys, arrays);
        return all(keys, i -> checkedPull(keys.get(i), arrays.get(i), priority));
    }

    /**
     * Pushes and pulls several keys, each as {@link #pushPull(Key, List, List, int)} does.
     *
     * @param keys keys of the store
     * @param arrays for each key the arrays of all ranks
     * @param results for each key the results of all ranks; may be the arrays
     * @param priority any integer; operations of greater priority go first
     * @return completes when all results are complete
     * @throws IllegalArgumentException if a key or an array does not fit; no key is pushed then
     */
    public CompletableFuture<Void> pushPullAll(
            List<Key> keys, List<List<MemorySegment>> arrays, List<List<MemorySegment>> results, int priority) {
        checkRow("push-pull", keys, arrays);
        checkRow("push-pull", keys, results);
        return all(keys, i -> checkedPushPull(keys.get(i), arrays.get(i), results.get(i), priority));
    }

    /**
     * Waits for the operations on a key that were called before.
     *
     * @param key a key of the store
     * @throws IllegalArgumentException if there is no such key
     * @throws IllegalStateException if the store is closed
     * @throws KVStoreException if one of them failed and no earlier wait threw that; the key can be used again then
     */
    public void waitFor(Key key) {
        Entry entry;
        synchronized (entries) {
            entry = entry("wait", key);
        }
        try {
            engine.waitFor(entry.variable);
        } catch (EngineException e) {
            throw reported(e);
        }
    }

    /**
     * Waits until no operation is left, as MXNet's {@code waitall} does; processes are not synchronised.
     *
     * @throws IllegalStateException if the store is closed
     * @throws KVStoreException if an operation failed and no earlier wait threw that; all keys can be used again then
     */
    public void waitAll() {
        synchronized (entries) {
            checkOpen();
        }
        try {
            engine.waitAll();
        } catch (EngineException e) {
            throw reported(e);
        }
    }

    /**
     * Waits for all operations and takes no more. It throws no operation's failure; call {@link #waitAll} before it.
     */
    @Override
    public void close() {
        boolean first;
        synchronized (entries) {
            first = !closed;
            closed = true;
        }
        engine.close();
        if (first && link != null) {
            link.close();
        }
    }

    private static KVStoreException reported(EngineException e) {
        Throwable failure = Objects.requireNonNull(e.getCause());
        Throwable cause =
                failure instanceof KVStoreException && failure.getCause() != null ? failure.getCause() : failure;
        return new KVStoreException(KVStoreException.what(failure), cause);
    }

    /** Checks a push and returns the code that begins it. */
    private Supplier<Progress> checkedPush(Key key, List<MemorySegment> arrays, int priority) {
        Entry entry = entry("push", key);
        List<MemorySegment> given = arrays("push", entry, arrays);
        checked("push", entry, () -> stages.checkPush(entry, given));
        return () -> {
            Progress progress = progress(Kind.PUSH, entry, priority);
            stages.push(progress, entry, given);
            return progress;
        };
    }

    private Supplier<Progress> checkedPull(Key key, List<MemorySegment> arrays, int priority) {
        Entry entry = entry("pull", key);
        List<MemorySegment> given = arrays("pull", entry, arrays);
        checked("pull", entry, () -> stages.checkPull(entry, given));
        return () -> {
            Progress progress = progress(Kind.PULL, entry, priority);
            stages.pull(progress, entry, given);
            return progress;
        };
    }

    private Supplier<Progress> checkedPushPull(
            Key key, List<MemorySegment> arrays, List<MemorySegment> results, int priority) {
        Entry entry = entry("push-pull", key);
        List<MemorySegment> given = arrays("push-pull", entry, arrays);
        List<MemorySegment> wanted = arrays("push-pull", entry, results);
        checked("push-pull", entry, () -> stages.checkPushPull(entry, given, wanted));
        return () -> {
            Progress progress = progress(Kind.PUSH_PULL, entry, priority);
            stages.pushPull(progress, entry, given, wanted);
            return progress;
        };
    }

    private Progress progress(Kind kind, Entry entry, int priority) {
        return new Progress(new StoreOperation(operations++, kind, entry.info, priority), listener);
    }

    private Entry entry(String what, Key key) {
        checkOpen();
        checkKind(what, key);
        Entry entry = entries.get(key);
        if (entry == null) {
            throw new IllegalArgumentException(
                    what + " of key " + key + ", which the store does not have; init it first");
        }
        return entry;
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException("the store is closed; create a new one");
        }
    }

    private void checkKind(String what, Key key) {
        if (!entries.isEmpty() && entries.keySet().iterator().next().integer() != key.integer()) {
            throw new IllegalArgumentException(what + " of key " + key + ", which is "
                    + (key.integer()
                            ? "an integer, but the keys of this store are strings"
                            : "a string, but the keys of this store are integers"));
        }
    }

    /** Checks a list of arrays and returns a copy, as the caller may change the list. */
    private List<MemorySegment> arrays(String what, Entry entry, List<MemorySegment> arrays) {
        KeyInfo info = entry.info;
        if (arrays.size() != communicator.size()) {
            throw new IllegalArgumentException(what + " of key " + info.key() + " with " + arrays.size()
                    + " arrays, but it needs " + communicator.size() + ", one for each rank");
        }
        for (int rank = 0; rank < arrays.size(); rank++) {
            if (arrays.get(rank).byteSize() != info.bytes()) {
                throw new IllegalArgumentException(what + " of key " + info.key() + ": the array of rank " + rank
                        + " has " + arrays.get(rank).byteSize() + " bytes, but the key has "
                        + elementsAndBytes(info.count(), info.type()));
            }
        }
        return List.copyOf(arrays);
    }

    private static void checked(String what, Entry entry, Runnable check) {
        try {
            check.run();
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(what + " of key " + entry.info.key() + ": " + e.getMessage(), e);
        }
    }

    private static String elementsAndBytes(long count, DataType type) {
        return count + " elements of " + type + ", " + count * type.bytes() + " bytes";
    }

    private static void checkRow(String what, List<Key> keys, List<List<MemorySegment>> arrays) {
        if (keys.size() != arrays.size()) {
            throw new IllegalArgumentException(what + " of " + keys.size() + " keys with the arrays of " + arrays.size()
                    + "; give a list of arrays for each key");
        }
    }

    private CompletableFuture<Void> all(List<Key> keys, IntFunction<Supplier<Progress>> check) {
        List<Progress> begun;
        synchronized (entries) {
            List<Supplier<Progress>> checked =
                    IntStream.range(0, keys.size()).mapToObj(check).toList();
            stages.hold();
            try {
                begun = checked.stream().map(Supplier::get).toList();
            } finally {
                stages.release();
            }
        }
        return Completions.copyOf(
                CompletableFuture.allOf(begun.stream().map(Progress::carryOn).toArray(CompletableFuture<?>[]::new)));
    }
}
