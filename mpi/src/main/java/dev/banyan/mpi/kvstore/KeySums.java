package dev.banyan.mpi.kvstore;

import dev.banyan.mpi.ProcessGroup;
import dev.banyan.mpi.World;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.kvstore.KeyInfo;
import dev.banyan.reduce.kvstore.LinkedSum;
import dev.banyan.reduce.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;

/** What all designs do with keys: first values and sums, in a group of all processes of its own. */
final class KeySums {
    private final World world;
    private final Communicator communicator;
    private final ProcessGroup group;
    private final boolean direct;

    KeySums(World world, Communicator communicator) {
        this.world = world;
        this.communicator = communicator;
        group = world.all().duplicate();
        direct = communicator.inHostMemory() || world.isCudaAware();
    }

    ProcessGroup group() {
        return group;
    }

    /** Gives all processes the first one's value; memory of the host. */
    void first(KeyInfo key, MemorySegment value) {
        group.broadcastAsync(name(key), value, key.count(), key.type(), 0).join();
    }

    /**
     * Sums an array up.
     *
     * @param among the processes, in a group that may have other work to do
     */
    CompletableFuture<Void> start(ProcessGroup among, LinkedSum sum) {
        KeyInfo key = sum.key();
        if (direct) {
            return among.allReduceAsync(name(key), sum.array(), key.count(), key.type(), ReduceOp.SUM);
        }
        MemorySegment copy = Arena.ofAuto().allocate(key.bytes(), Long.BYTES);
        communicator.read(sum.array(), copy);
        return among.allReduceAsync(name(key), copy, key.count(), key.type(), ReduceOp.SUM)
                .thenRun(() -> communicator.write(sum.array(), copy));
    }

    static String name(KeyInfo key) {
        return "key " + key.key();
    }

    void close() {
        group.close();
    }

    World world() {
        return world;
    }
}
