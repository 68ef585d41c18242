package dev.banyan.msccl;

import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.Forest;
import java.math.BigInteger;
import java.util.List;
import org.apache.commons.numbers.fraction.BigFraction;

/** Requests whose schedules {@link MscclWriter} can write: for as many elements as MSCCL has equal chunks. */
public final class MscclRequests {
    /**
     * A usual limit to the number of equal chunks. Each chunk of the data must be large enough to be worth a
     * transfer, and the runtime wants the element count to be a multiple of their number.
     */
    public static final int USUAL_LIMIT = 1024;

    /** Elements of this size are cut at any element, and scratch memory is not padded. */
    private static final int ELEMENT_BYTES = 64;

    /** The error of the sum of shares that {@link Forest} allows. */
    private static final double SHARE_ERROR = 1e-9;

    private MscclRequests() {}

    /**
     * A request for a schedule over equal chunks. Shares of a forest are rounded to whole chunks.
     *
     * @param collective what is to be done
     * @param root the root, or -1 where the collective has none
     * @param chunks number of equal chunks of {@code count} elements as {@link Collective} counts them: of a
     *     block for all_gather and reduce_scatter, else of all data; at least 1. A multiple of the number of
     *     ranks for rings, 1 for a star, for forests that of {@link #equalChunks}
     * @param inPlace whether inputs and outputs share memory
     */
    public static CollectiveRequest of(Collective collective, int root, int chunks, boolean inPlace) {
        if (chunks < 1) {
            throw new IllegalArgumentException(chunks + " equal chunks; MSCCL needs at least 1");
        }
        return new CollectiveRequest(collective, root, chunks, ELEMENT_BYTES, inPlace, Long.MAX_VALUE);
    }

    /**
     * The least number of equal chunks of which each share of a forest is a whole number, up to the
     * rounding of its shares, which are not exact.
     *
     * @param limit the most that there may be
     * @throws IllegalArgumentException if it is above the limit
     */
    public static int equalChunks(Forest forest, int limit) {
        for (int chunks = 1; chunks <= limit; chunks++) {
            int candidate = chunks;
            boolean whole = forest.shares().stream()
                    .mapToDouble(share -> share * candidate)
                    .allMatch(part -> Math.abs(part - Math.rint(part)) < SHARE_ERROR * candidate);
            if (whole) {
                return chunks;
            }
        }
        throw new IllegalArgumentException("the shares of " + forest.trees().size() + " trees are not whole in up to "
                + limit + " equal chunks; use fewer trees, or choose a number of chunks, to which shares are rounded");
    }

    /**
     * The least number of equal chunks of which each share is a whole number: the least common denominator.
     *
     * @param shares shares of the data, exact
     * @param limit the most that there may be
     * @throws IllegalArgumentException if it is above the limit
     */
    public static int equalChunks(List<BigFraction> shares, int limit) {
        BigInteger chunks = BigInteger.ONE;
        for (BigFraction share : shares) {
            BigInteger denominator = share.getDenominator();
            chunks = chunks.divide(chunks.gcd(denominator)).multiply(denominator);
        }
        if (chunks.compareTo(BigInteger.valueOf(limit)) > 0) {
            throw new IllegalArgumentException("the shares of " + shares.size() + " trees are whole only in " + chunks
                    + " equal chunks, which is more than " + limit
                    + "; use fewer trees, or choose a number of chunks, to which shares are rounded");
        }
        return chunks.intValueExact();
    }
}
