package dev.banyan.mpi;

import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/** The three phases of an allreduce over processes and their devices, for one piece of the array at a time. */
interface Phases {
    /** Reduces a piece inside the process, to the leaders. */
    CompletableFuture<Void> gather(Piece piece);

    /** Reduces a piece between the leaders of all processes. */
    CompletableFuture<Void> exchange(Piece piece);

    /** Copies a piece inside the process, from the leaders to all devices. */
    CompletableFuture<Void> spread(Piece piece);

    /** Returns the number of elements of which the length of a piece must be a multiple. */
    int multiple();

    /**
     * A piece of an array.
     *
     * @param turn the index of the piece in the array
     * @param buffers the piece's part of the buffer of each device of this process
     */
    record Piece(int turn, List<MemorySegment> buffers, long count, DataType type, ReduceOp op) {
        /** Returns the operation inside a process: AVG is a sum there, which is divided at the end. */
        ReduceOp inside() {
            return op == ReduceOp.AVG ? ReduceOp.SUM : op;
        }
    }

    /** The first device leads. */
    record OneLeader(Communicator local, Between between) implements Phases {
        @Override
        public CompletableFuture<Void> gather(Piece piece) {
            return local.runAsync(CollectiveCall.reduce(piece.buffers, piece.count, piece.type, piece.inside()));
        }

        @Override
        public CompletableFuture<Void> exchange(Piece piece) {
            return between.start(0, piece.turn, piece.buffers.getFirst(), piece.count, piece.type, piece.op);
        }

        @Override
        public CompletableFuture<Void> spread(Piece piece) {
            return local.runAsync(CollectiveCall.broadcast(piece.buffers, piece.count, piece.type));
        }

        @Override
        public int multiple() {
            return 1;
        }
    }

    /** Each device leads for its block of the piece. */
    record SeveralLeaders(Communicator local, Between between) implements Phases {
        @Override
        public CompletableFuture<Void> gather(Piece piece) {
            return local.runAsync(
                    CollectiveCall.reduceScatter(piece.buffers, block(piece), piece.type, piece.inside()));
        }

        @Override
        public CompletableFuture<Void> exchange(Piece piece) {
            long bytes = block(piece) * piece.type.bytes();
            return CompletableFuture.allOf(IntStream.range(0, local.size())
                    .mapToObj(device -> between.start(
                            device,
                            piece.turn,
                            piece.buffers.get(device).asSlice(device * bytes, bytes),
                            block(piece),
                            piece.type,
                            piece.op))
                    .toArray(CompletableFuture<?>[]::new));
        }

        @Override
        public CompletableFuture<Void> spread(Piece piece) {
            return local.runAsync(CollectiveCall.allGather(piece.buffers, block(piece), piece.type));
        }

        @Override
        public int multiple() {
            return local.size();
        }

        private long block(Piece piece) {
            return piece.count / local.size();
        }
    }
}
