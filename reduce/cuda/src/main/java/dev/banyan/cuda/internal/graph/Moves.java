package dev.banyan.cuda.internal.graph;

/**
 * The sizes by which data is cut and moved.
 *
 * @param pieceBytes length of a piece, as long as there are not too many; a multiple of 512
 * @param mostPieces greatest number of pieces of a chunk
 * @param ring how many pieces of a chunk may be on their way in one receive buffer
 * @param directBytes greatest length up to which a kernel loads from a peer's memory; longer pieces are copied
 *     first
 */
public record Moves(long pieceBytes, int mostPieces, int ring, long directBytes) {
    /**
     * A copy of 1 MiB keeps an NVLink busy. A copy engine uses about a quarter more of a link than a kernel's
     * loads do, but its copy is one node more, some 2.5 us: at 25 GB/s the two are even near 256 KiB.
     */
    public static final Moves DEFAULT = new Moves(1 << 20, 64, 3, 256 << 10);

    /** The least length to which pieces are cut if memory is short. */
    static final long LEAST_PIECE = 64 << 10;

    /** Shorter pieces, and more of them. */
    Moves halved() {
        return new Moves(pieceBytes / 2, Math.multiplyExact(mostPieces, 2), ring, directBytes);
    }

    /** Length of the pieces of a chunk, in bytes. */
    long pieceOf(long chunkBytes) {
        long even = Math.ceilDiv(Math.ceilDiv(chunkBytes, mostPieces), 512L) * 512;
        return Math.min(chunkBytes, Math.max(pieceBytes, even));
    }
}
