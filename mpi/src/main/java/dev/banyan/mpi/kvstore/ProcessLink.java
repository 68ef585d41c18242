package dev.banyan.mpi.kvstore;

import dev.banyan.kvstore.Key;
import dev.banyan.kvstore.KeyInfo;
import dev.banyan.kvstore.LinkedSum;
import dev.banyan.kvstore.StoreLink;
import dev.banyan.kvstore.internal.engine.DependencyEngine;
import dev.banyan.kvstore.internal.engine.Variable;
import dev.banyan.mpi.ProcessGroup;
import dev.banyan.mpi.World;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.CallQueue;
import dev.banyan.reduce.internal.CloseAll;
import dev.banyan.reduce.internal.Completions;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The common part of all designs: first values and sums of keys, in a group of all processes that the store owns.
 * Arrays that MPI cannot access go there and back through host memory; each key has a host array of its own length.
 */
abstract class ProcessLink implements StoreLink {
    /** The grace period in which a copy that timed out reports that itself. */
    private static final Duration GRACE = Duration.ofSeconds(1);

    final World world;
    final DependencyEngine engine;
    final ProcessGroup group;
    private final List<ProcessGroup> owned = new ArrayList<>();
    private final Communicator communicator;
    private final boolean direct;
    private final CallQueue copies;
    private final Arena arena = Arena.ofShared();
    private final Map<Key, MemorySegment> staging = new ConcurrentHashMap<>();

    ProcessLink(World world, Communicator communicator, DependencyEngine engine) {
        this.world = world;
        this.communicator = communicator;
        this.engine = engine;
        group = duplicate();
        direct = communicator.inHostMemory() || world.takesDeviceMemory();
        copies = new CallQueue("banyan-mpi-copies", communicator.config().get(Communicator.TIMEOUT), GRACE);
    }

    /** Returns another group of all processes, which is closed with this. */
    final ProcessGroup duplicate() {
        ProcessGroup made = world.all().duplicate();
        owned.add(made);
        return made;
    }

    @Override
    public boolean waitsForPull() {
        return false;
    }

    @Override
    public final void first(KeyInfo key, MemorySegment value) {
        group.broadcast(name(key), value, key.count(), key.type(), 0);
        if (!direct) {
            staging.put(key.key(), communicator.allocateHost(key.bytes(), arena));
        }
    }

    /**
     * Pushes the operations that sum an array.
     *
     * @param among the group that runs the call of MPI
     * @param turn the variable that the call of MPI mutates; copies to and from the host overlap with the calls of
     *     other keys
     */
    final void push(LinkedSum sum, ProcessGroup among, Variable turn) {
        if (direct) {
            engine.pushDeferred(
                    sum.task(() -> reduced(among, sum), () -> {}), List.of(), List.of(sum.variable(), turn));
        } else {
            engine.pushDeferred(sum.part(() -> read(sum)), List.of(), List.of(sum.variable()));
            engine.pushDeferred(sum.part(() -> reduced(among, sum)), List.of(), List.of(sum.variable(), turn));
            engine.pushDeferred(sum.task(() -> written(sum), () -> {}), List.of(), List.of(sum.variable()));
        }
    }

    /** Sums an array and returns when it is summed. */
    final void run(LinkedSum sum) {
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

    @Override
    public final void close() {
        CloseAll all = new CloseAll();
        owned.reversed().forEach(each -> all.close(each::close));
        if (all.close(copies::close)) {
            all.close(arena::close);
        }
        all.throwFailure();
    }
}
