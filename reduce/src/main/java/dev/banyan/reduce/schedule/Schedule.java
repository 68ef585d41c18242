package dev.banyan.reduce.schedule;

import dev.banyan.reduce.type.Collective;
import java.util.List;
import java.util.Objects;

/**
 * A collective as data: what is copied and reduced, and in which order. It knows no hardware and no
 * operation; it can be printed, verified, simulated and run.
 *
 * @param algorithm name of the algorithm that made it, e.g. {@code ring}
 * @param collective what it does
 * @param ranks number of ranks n, at least 1
 * @param root the root, or -1 where the collective has none
 * @param count elements, as {@link Collective} counts them
 * @param elementBytes size of one element in bytes
 * @param inPlace whether inputs and outputs share memory as {@link Collective} says
 * @param scratchBytes bytes of {@link Space#SCRATCH} that each rank needs
 * @param chunks the pieces; no chunk for no element or one rank in place
 */
public record Schedule(
        String algorithm,
        Collective collective,
        int ranks,
        int root,
        long count,
        int elementBytes,
        boolean inPlace,
        long scratchBytes,
        List<Chunk> chunks) {
    public Schedule {
        Objects.requireNonNull(algorithm, "algorithm");
        Objects.requireNonNull(collective, "collective");
        chunks = List.copyOf(chunks);
        if (ranks < 1 || count < 0 || elementBytes < 1 || scratchBytes < 0) {
            throw new IllegalArgumentException("a schedule of " + ranks + " ranks, " + count + " elements of "
                    + elementBytes + " bytes and " + scratchBytes + " bytes of scratch");
        }
        if (collective.hasRoot() ? root < 0 || root >= ranks : root != -1) {
            throw new IllegalArgumentException(
                    "root " + root + " for " + collective.label() + " over " + ranks + " ranks");
        }
    }

    /**
     * Where a location lies in its rank's only buffer when the schedule is in place: the input's offset in
     * the output for all_gather, the output's in the input for reduce_scatter, no shift otherwise.
     *
     * @param location in {@link Space#INPUT} or {@link Space#OUTPUT}
     * @return offset in bytes
     */
    public long offsetInPlace(Location location) {
        boolean shifted = switch (location.space()) {
            case INPUT -> collective == Collective.ALL_GATHER;
            case OUTPUT -> collective == Collective.REDUCE_SCATTER;
            case SCRATCH -> false;
        };
        return shifted ? location.offset() + location.rank() * count * elementBytes : location.offset();
    }

    /** Number of steps of all chunks. */
    public int stepCount() {
        return chunks.stream().mapToInt(chunk -> chunk.steps().size()).sum();
    }
}
