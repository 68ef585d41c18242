package dev.banyan.schedule.internal.algorithm;

import dev.banyan.schedule.type.Collective;
import java.util.Objects;

/**
 * A request for a schedule.
 *
 * @param collective the collective
 * @param root the root, or -1 where the collective has none
 * @param count elements, as {@link Collective} counts them
 * @param elementBytes size of one element in bytes
 * @param inPlace whether inputs and outputs share memory
 * @param chunkBytes greatest length of a chunk in bytes, at least {@code elementBytes}; {@link
 *     Long#MAX_VALUE} leaves the cutting to the backend
 */
public record CollectiveRequest(
        Collective collective, int root, long count, int elementBytes, boolean inPlace, long chunkBytes) {
    public CollectiveRequest {
        Objects.requireNonNull(collective, "collective");
        if (count < 0 || elementBytes < 1 || chunkBytes < elementBytes) {
            throw new IllegalArgumentException("a request for " + count + " elements of " + elementBytes
                    + " bytes in chunks of " + chunkBytes + " bytes");
        }
        if (collective.hasRoot() == root < 0) {
            throw new IllegalArgumentException("root " + root + " for " + collective.label());
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof CollectiveRequest request
                && collective == request.collective
                && root == request.root
                && count == request.count
                && elementBytes == request.elementBytes
                && inPlace == request.inPlace
                && chunkBytes == request.chunkBytes;
    }

    /** Spelled out, since the methods that records get by themselves take milliseconds at their first call. */
    @Override
    public int hashCode() {
        int hash = 31 * collective.hashCode() + root;
        hash = 31 * hash + Long.hashCode(count);
        hash = 31 * hash + elementBytes;
        hash = 31 * hash + Boolean.hashCode(inPlace);
        return 31 * hash + Long.hashCode(chunkBytes);
    }

    /**
     * Returns the size as nccl-tests define it: the bytes of the larger of a rank's buffers.
     *
     * @param ranks number of ranks
     */
    public long bytes(int ranks) {
        return Math.multiplyExact(
                Math.max(collective.inputElements(count, ranks), collective.outputElements(count, ranks)),
                (long) elementBytes);
    }
}
