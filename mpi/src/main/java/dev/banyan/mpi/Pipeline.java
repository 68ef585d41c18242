package dev.banyan.mpi;

import dev.banyan.mpi.Phases.Piece;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.internal.Completions;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Cuts an array into pieces and runs the {@link Phases} of each. While one piece is exchanged between the processes,
 * the next is gathered and the one before is spread. All processes cut alike and exchange pieces in order.
 */
final class Pipeline {
    private final CollectiveCall call;
    private final Phases phases;
    private final long pieceElements;

    /** @param pieceBytes the greatest length of a piece in one buffer, in bytes */
    Pipeline(CollectiveCall call, Phases phases, long pieceBytes) {
        this.call = call;
        this.phases = phases;
        long elements = pieceBytes / call.type().bytes();
        pieceElements = Math.max(phases.multiple(), elements - elements % phases.multiple());
    }

    /**
     * Reduces a range of the array. If a piece fails, the method throws when no call accesses the array any more.
     *
     * @param begin the first element
     * @param end the element after the last one
     */
    void run(long begin, long end) {
        List<CompletableFuture<Void>> begun = new ArrayList<>();
        try {
            run(cut(begin, end), begun);
        } finally {
            begun.forEach(
                    phase -> phase.handle((done, failure) -> failure == null).join());
        }
        begun.forEach(Completions::join);
    }

    private void run(List<Piece> pieces, List<CompletableFuture<Void>> begun) {
        CompletableFuture<Void> none = CompletableFuture.completedFuture(null);
        CompletableFuture<Void> gathered = pieces.isEmpty() ? none : begun(phases.gather(pieces.getFirst()), begun);
        CompletableFuture<Void> exchanged = none;
        for (int i = 0; i < pieces.size(); i++) {
            CompletableFuture<Void> ready = gathered;
            if (i + 1 < pieces.size()) {
                gathered = begun(phases.gather(pieces.get(i + 1)), begun);
            }
            Completions.join(ready);
            CompletableFuture<Void> before = exchanged;
            exchanged = begun(phases.exchange(pieces.get(i)), begun);
            Completions.join(before);
            if (i > 0) {
                begun.add(phases.spread(pieces.get(i - 1)));
            }
        }
        Completions.join(exchanged);
        if (!pieces.isEmpty()) {
            begun.add(phases.spread(pieces.getLast()));
        }
    }

    private static CompletableFuture<Void> begun(CompletableFuture<Void> phase, List<CompletableFuture<Void>> begun) {
        begun.add(phase);
        return phase;
    }

    private List<Piece> cut(long begin, long end) {
        List<Piece> pieces = new ArrayList<>();
        for (long at = begin; at < end; at += pieceElements) {
            long first = at * call.type().bytes();
            long count = Math.min(pieceElements, end - at);
            List<MemorySegment> buffers = call.outputs().stream()
                    .map(buffer -> buffer.asSlice(first, count * call.type().bytes()))
                    .toList();
            pieces.add(new Piece(pieces.size(), buffers, count, call.type(), call.op()));
        }
        return pieces;
    }
}
