package dev.banyan.trees.packing.allreduce;

import dev.banyan.trees.internal.DuplexLinks;
import java.util.Arrays;
import java.util.function.IntUnaryOperator;

/**
 * Partitions of the ranks that may limit which trees can be taken off the links, and by how much. With trees
 * of weight {@code left} still to take, the links between k parts must keep (k - 1) {@code left}; what they
 * have beyond that is the partition's slack. A tree takes at least k - 1 of these links, and uses up slack
 * with each further one.
 */
final class KnownPartitions {
    /** More than the partitions that are avoided at a time. */
    private static final int TIGHT = 1 << 4;

    private final DuplexLinks links;
    /** Words of a set of links. */
    private final int words;

    private int size;
    /** The links that cross each partition, {@link #words} for each. */
    private long[] crossing;
    /** By partition: parts less one. */
    private int[] joints;

    private long[] slacks;
    private boolean[] avoided;

    KnownPartitions(DuplexLinks links) {
        this.links = links;
        words = (links.links() + Long.SIZE - 1) / Long.SIZE;
        int room = 2 * links.nodes();
        crossing = new long[room * words];
        joints = new int[room];
        slacks = new long[room];
        avoided = new boolean[room];
    }

    int size() {
        return size;
    }

    /** Returns an empty set of links, a bit mask. */
    long[] emptySet() {
        return new long[words];
    }

    /** Makes a bit mask the set of some links. */
    static void mask(int[] tree, long[] mask) {
        Arrays.fill(mask, 0);
        for (int link : tree) {
            mask[link / Long.SIZE] |= 1L << link;
        }
    }

    /**
     * Adds a partition.
     *
     * @param part by rank: one rank of its part, the same for all of them
     */
    void add(IntUnaryOperator part, long[] residual, long left) {
        if (size == joints.length) {
            crossing = Arrays.copyOf(crossing, 2 * crossing.length);
            joints = Arrays.copyOf(joints, 2 * size);
            slacks = Arrays.copyOf(slacks, 2 * size);
            avoided = Arrays.copyOf(avoided, 2 * size);
        }
        joints[size] = -1;
        for (int rank = 0; rank < links.nodes(); rank++) {
            joints[size] += part.applyAsInt(rank) == rank ? 1 : 0;
        }
        for (int link = 0; link < links.links(); link++) {
            if (part.applyAsInt(links.rankAt(2 * link)) != part.applyAsInt(links.rankAt(2 * link + 1))) {
                crossing[size * words + link / Long.SIZE] |= 1L << link;
            }
        }
        restart(size++, residual, left);
    }

    /** Takes all slacks anew. */
    void restart(long[] residual, long left) {
        for (int partition = 0; partition < size; partition++) {
            restart(partition, residual, left);
        }
    }

    private void restart(int partition, long[] residual, long left) {
        long slack = -left * joints[partition];
        for (int word = 0; word < words; word++) {
            for (long bits = crossing[partition * words + word]; bits != 0; bits &= bits - 1) {
                slack += residual[word * Long.SIZE + Long.numberOfTrailingZeros(bits)];
            }
        }
        slacks[partition] = slack;
        avoided[partition] = false;
    }

    /**
     * Returns the partition that limits most how much of a tree can be taken, compared as exact fractions, or -1 if
     * every partition allows at least the limit.
     */
    int tightest(long[] tree, long limit) {
        long whole = limit;
        long rest = 0;
        int of = 1;
        int tightest = -1;
        for (int partition = 0; partition < size; partition++) {
            int excess = excess(partition, tree);
            long slack = slacks[partition];
            // Most partitions allow more than the tightest so far, which takes no division to see.
            if (excess > 0 && slack < (whole + 1) * excess) {
                long quotient = slack / excess;
                long remainder = slack % excess;
                if (quotient < whole || (quotient == whole && remainder * of < rest * excess)) {
                    whole = quotient;
                    rest = remainder;
                    of = excess;
                    tightest = partition;
                }
            }
        }
        return tightest;
    }

    /** Returns whether all partitions let so much of a tree be taken. */
    boolean allow(long[] tree, long weight) {
        for (int partition = 0; partition < size; partition++) {
            if (slacks[partition] < weight * excess(partition, tree)) {
                return false;
            }
        }
        return true;
    }

    long slack(int partition) {
        return slacks[partition];
    }

    int excess(int partition, long[] tree) {
        int count = -joints[partition];
        for (int word = 0; word < words; word++) {
            count += Long.bitCount(crossing[partition * words + word] & tree[word]);
        }
        return count;
    }

    /** Has the next tree take no more links of a partition than it must, if possible. */
    void avoid(int partition) {
        avoided[partition] = true;
    }

    /** Updates the slacks after so much of a tree was taken. */
    void take(long[] tree, long weight) {
        for (int partition = 0; partition < size; partition++) {
            slacks[partition] -= weight * excess(partition, tree);
        }
        Arrays.fill(avoided, false);
    }

    /** Multiplies all weights and capacities. */
    void scale(long factor) {
        for (int partition = 0; partition < size; partition++) {
            slacks[partition] *= factor;
        }
        Arrays.fill(avoided, false);
    }

    /**
     * Prices the links by the partitions between whose parts they are.
     *
     * @param hard becomes, by link, the number of those without slack, times a constant, plus that of those to avoid
     * @param soft becomes, by link, their sum of {@code factor / (slack + 1)}, on average over all partitions
     */
    void price(int[] hard, double[] soft, double factor) {
        double ofOne = factor / size;
        for (int partition = 0; partition < size; partition++) {
            int count = slacks[partition] == 0 ? TIGHT : avoided[partition] ? 1 : 0;
            double price = ofOne / (slacks[partition] + 1.0);
            for (int word = 0; word < words; word++) {
                for (long bits = crossing[partition * words + word]; bits != 0; bits &= bits - 1) {
                    int link = word * Long.SIZE + Long.numberOfTrailingZeros(bits);
                    hard[link] += count;
                    soft[link] += price;
                }
            }
        }
    }
}
