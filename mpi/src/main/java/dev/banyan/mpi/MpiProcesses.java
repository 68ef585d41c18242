package dev.banyan.mpi;

import static java.lang.foreign.ValueLayout.ADDRESS;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** A communicator of MPI, and its calls on arrays of any length. Used by one thread at a time. */
final class MpiProcesses implements AutoCloseable {
    /**
     * The greatest number of bytes that one call of MPI gets. MPI counts elements in 32 bits, and some of its
     * transports count bytes in 32 bits.
     */
    private static final long PIECE_BYTES = 1 << 30;

    private interface Piece {
        void run(MemorySegment memory, int elements);
    }

    private final World world;
    private final MpiLibrary mpi;
    private final MemorySegment communicator;
    private final int rank;
    private final int size;

    /** @param communicator the handle */
    MpiProcesses(World world, MemorySegment communicator) {
        this.world = world;
        this.communicator = communicator;
        mpi = world.mpi();
        mpi.call(MpiCall.SET_ERRHANDLER, communicator, mpi.handle("ompi_mpi_errors_return"));
        rank = mpi.number(MpiCall.RANK, communicator);
        size = mpi.number(MpiCall.SIZE, communicator);
    }

    MemorySegment communicator() {
        return communicator;
    }

    int rank() {
        return rank;
    }

    int size() {
        return size;
    }

    /** Returns the same processes with a communicator of their own. All processes call it. */
    MpiProcesses duplicate() {
        return new MpiProcesses(world, mpi.made(MpiCall.DUP, communicator));
    }

    /** Returns those on this process's machine. All processes call it. */
    MpiProcesses onSameMachine() {
        return new MpiProcesses(
                world,
                mpi.made(
                        MpiCall.SPLIT_TYPE,
                        communicator,
                        MpiLibrary.SHARED_MEMORY,
                        rank,
                        mpi.handle("ompi_mpi_info_null")));
    }

    /** Returns those that give the same number, at least 0. All processes call it. */
    MpiProcesses split(int number) {
        return new MpiProcesses(world, mpi.made(MpiCall.SPLIT, communicator, number, rank));
    }

    /** Waits for all. */
    void barrier() {
        mpi.call(MpiCall.BARRIER, communicator);
    }

    /** Copies the root's array to all others. */
    void broadcast(MemorySegment memory, long count, DataType type, int root) {
        pieces(
                memory,
                count,
                type,
                (at, elements) -> mpi.call(MpiCall.BROADCAST, at, elements, handle(type), root, communicator));
    }

    /** Reduces an array of each in place; AVG is a sum. */
    void allReduce(MemorySegment memory, long count, DataType type, ReduceOp op) {
        MemorySegment operation = world.reductions().operation(type, op);
        pieces(
                memory,
                count,
                type,
                (at, elements) -> mpi.call(
                        MpiCall.ALL_REDUCE, MpiLibrary.IN_PLACE, at, elements, handle(type), operation, communicator));
    }

    /** Returns whether something holds in all processes. All of them call it. */
    boolean allHave(boolean own) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment least = arena.allocateFrom(ValueLayout.JAVA_LONG, own ? 1 : 0);
            allReduce(least, 1, DataType.I64, ReduceOp.MIN);
            return least.get(ValueLayout.JAVA_LONG, 0) == 1;
        }
    }

    private MemorySegment handle(DataType type) {
        return world.reductions().type(type);
    }

    private static void pieces(MemorySegment memory, long count, DataType type, Piece piece) {
        long most = PIECE_BYTES / type.bytes();
        for (long at = 0; at < count; at += most) {
            piece.run(MemorySegment.ofAddress(memory.address() + at * type.bytes()), (int) Math.min(most, count - at));
        }
    }

    /** Frees the communicator. All processes call it. */
    @Override
    public void close() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment handle = arena.allocate(ADDRESS);
            handle.set(ADDRESS, 0, communicator);
            mpi.call(MpiCall.FREE, handle);
        }
    }
}
