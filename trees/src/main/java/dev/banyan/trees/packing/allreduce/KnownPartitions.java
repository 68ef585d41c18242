package dev.banyan.trees.packing.allreduce;

import dev.banyan.trees.network.DuplexLinks;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;

/**
 * Partitions of the ranks that may limit which trees can be taken off the links, and by how much. With trees
 * of weight {@code left} still to take, the links between k parts must keep (k - 1) {@code left}; what they
 * have beyond that is the partition's slack. A tree takes at least k - 1 of these links, and uses up slack
 * with each further one.
 */
final class KnownPartitions {
    private final DuplexLinks links;
    private final List<Partition> partitions = new ArrayList<>();

    private static final class Partition {
        final long[] crossing;
        final int joints;
        long slack;
        boolean avoided;

        Partition(long[] crossing, int joints) {
            this.crossing = crossing;
            this.joints = joints;
        }

        int excess(long[] tree) {
            int count = -joints;
            for (int word = 0; word < tree.length; word++) {
                count += Long.bitCount(crossing[word] & tree[word]);
            }
            return count;
        }
    }

    KnownPartitions(DuplexLinks links) {
        this.links = links;
    }

    int size() {
        return partitions.size();
    }

    /** A set of links as a bit mask. */
    long[] mask(int[] tree) {
        long[] mask = new long[(links.links() + Long.SIZE - 1) / Long.SIZE];
        for (int link : tree) {
            mask[link / Long.SIZE] |= 1L << link;
        }
        return mask;
    }

    /**
     * Adds a partition.
     *
     * @param part by rank: one rank of its part, the same for all of them
     */
    void add(IntUnaryOperator part, long[] residual, long left) {
        int joints = -1;
        for (int rank = 0; rank < links.nodes(); rank++) {
            joints += part.applyAsInt(rank) == rank ? 1 : 0;
        }
        long[] crossing = mask(new int[0]);
        for (int link = 0; link < links.links(); link++) {
            if (part.applyAsInt(links.rankAt(2 * link)) != part.applyAsInt(links.rankAt(2 * link + 1))) {
                crossing[link / Long.SIZE] |= 1L << link;
            }
        }
        Partition partition = new Partition(crossing, joints);
        partitions.add(partition);
        restart(partition, residual, left);
    }

    /** Takes all slacks anew. */
    void restart(long[] residual, long left) {
        for (Partition partition : partitions) {
            restart(partition, residual, left);
        }
    }

    private static void restart(Partition partition, long[] residual, long left) {
        partition.avoided = false;
        partition.slack = -left * partition.joints;
        for (int word = 0; word < partition.crossing.length; word++) {
            for (long bits = partition.crossing[word]; bits != 0; bits &= bits - 1) {
                partition.slack += residual[word * Long.SIZE + Long.numberOfTrailingZeros(bits)];
            }
        }
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
        for (int i = 0; i < partitions.size(); i++) {
            Partition partition = partitions.get(i);
            int excess = partition.excess(tree);
            // Most partitions allow more than the tightest so far, which takes no division to see.
            if (excess > 0 && partition.slack < (whole + 1) * excess) {
                long quotient = partition.slack / excess;
                long remainder = partition.slack % excess;
                if (quotient < whole || (quotient == whole && remainder * of < rest * excess)) {
                    whole = quotient;
                    rest = remainder;
                    of = excess;
                    tightest = i;
                }
            }
        }
        return tightest;
    }

    long slack(int partition) {
        return partitions.get(partition).slack;
    }

    int excess(int partition, long[] tree) {
        return partitions.get(partition).excess(tree);
    }

    /** Has the next tree take no more links of a partition than it must, if possible. */
    void avoid(int partition) {
        partitions.get(partition).avoided = true;
    }

    /** Updates the slacks after so much of a tree was taken. */
    void take(long[] tree, long weight) {
        for (Partition partition : partitions) {
            partition.slack -= weight * partition.excess(tree);
            partition.avoided = false;
        }
    }

    /** Multiplies all weights and capacities. */
    void scale(long factor) {
        for (Partition partition : partitions) {
            partition.slack *= factor;
            partition.avoided = false;
        }
    }

    /**
     * Prices the links by the partitions between whose parts they are.
     *
     * @param hard becomes, by link, the number of those without slack, and then of those to avoid
     * @param soft becomes, by link, their sum of {@code factor / (slack + 1)}, on average over all partitions
     */
    void price(int[] hard, double[] soft, double factor) {
        for (Partition partition : partitions) {
            int count = partition.slack == 0 ? 1 << 12 : partition.avoided ? 1 : 0;
            double price = factor / (partition.slack + 1.0) / partitions.size();
            for (int word = 0; word < partition.crossing.length; word++) {
                for (long bits = partition.crossing[word]; bits != 0; bits &= bits - 1) {
                    int link = word * Long.SIZE + Long.numberOfTrailingZeros(bits);
                    hard[link] += count;
                    soft[link] += price;
                }
            }
        }
    }
}
