package dev.banyan.mpi.kvstore;

import dev.banyan.kvstore.Key;
import dev.banyan.kvstore.KeyInfo;
import dev.banyan.kvstore.LinkedSum;
import dev.banyan.kvstore.engine.DependencyEngine;
import dev.banyan.kvstore.engine.Variable;
import dev.banyan.mpi.ProcessGroup;
import dev.banyan.mpi.World;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.CallQueue;
import dev.banyan.reduce.internal.Completions;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What all designs do with keys: first values and sums, in a group of all processes of its own. What MPI can't take
 * from where it is goes there and back through memory of the host, of which each key has as much as it is long.
 */
final class KeySums {
    /** What copies get beyond the timeout. */
    private static final Duration GRACE = Duration.ofSeconds(1);

    private final World world;
    private final Communicator communicator;
    private final ProcessGroup group;
    private final boolean direct;
    private final CallQueue copies;
    private final Arena arena = Arena.ofShared();
    private final Map<Key, MemorySegment> staging = new ConcurrentHashMap<>();

    KeySums(World world, Communicator communicator) {
        this.world = world;
        this.communicator = communicator;
        group = world.all().duplicate();
        direct = communicator.inHostMemory() || world.isCudaAware();
        copies = new CallQueue("banyan-mpi-copies", communicator.config().get(Communicator.TIMEOUT), GRACE);
    }

    ProcessGroup group() {
        return group;
    }

    /** Gives all processes the first one's value; memory of the host. */
    void first(KeyInfo key, MemorySegment value) {
        Completions.join(group.broadcastAsync(name(key), value, key.count(), key.type(), 0));
        if (!direct) {
            staging.put(key.key(), communicator.allocateHost(key.bytes(), arena));
        }
    }

    /**
     * Puts into the engine what sums an array up.
     *
     * @param among the processes, in a group that may have other work to do
     * @param turn what the call of MPI mutates; copies to and from the host overlap with calls for other keys
     */
    void push(DependencyEngine engine, LinkedSum sum, ProcessGroup among, Variable turn) {
        if (direct) {
            engine.pushDeferred(
                    sum.task(() -> reduced(among, sum), () -> {}), List.of(), List.of(sum.variable(), turn));
        } else {
            engine.pushDeferred(sum.part(() -> read(sum)), List.of(), List.of(sum.variable()));
            engine.pushDeferred(sum.part(() -> reduced(among, sum)), List.of(), List.of(sum.variable(), turn));
            engine.pushDeferred(sum.task(() -> written(sum), () -> {}), List.of(), List.of(sum.variable()));
        }
    }

    /** Sums an array up, and returns when that is done. */
    void run(LinkedSum sum) {
        if (!direct) {
            Completions.join(read(sum));
        }
        Completions.join(reduced(group, sum));
        if (!direct) {
            Completions.join(written(sum));
        }
    }

    private CompletableFuture<Void> reduced(ProcessGroup among, LinkedSum sum) {
        KeyInfo key = sum.key();
        return among.allReduceAsync(
                name(key), direct ? sum.array() : staged(sum), key.count(), key.type(), ReduceOp.SUM);
    }

    private CompletableFuture<Void> read(LinkedSum sum) {
        return copies.submit(() -> communicator.copyToHost(sum.array(), staged(sum)));
    }

    private CompletableFuture<Void> written(LinkedSum sum) {
        return copies.submit(() -> communicator.copyToDevice(sum.array(), staged(sum)));
    }

    private MemorySegment staged(LinkedSum sum) {
        return Objects.requireNonNull(staging.get(sum.key().key()));
    }

    static String name(KeyInfo key) {
        return "key " + key.key();
    }

    /** When all sums have ended. */
    void close() {
        group.close();
        copies.close();
        arena.close();
    }

    World world() {
        return world;
    }
}
