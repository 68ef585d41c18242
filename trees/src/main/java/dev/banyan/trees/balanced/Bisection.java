package dev.banyan.trees.balanced;

import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Recursive bisection, the search of {@link KernighanLin}. A cluster is a range of {@code members}; its
 * root is carried along.
 */
final class Bisection implements TreeBuilder {
    /** Sequences of trees, as each draws other lots. */
    private static final int STARTS = 3;
    /** Tries for a tree. */
    private static final int TREE_TRIES = 8;
    /** New splits of one cluster within a try, after the first. */
    private static final int SPLIT_TRIES = 3;

    private final LinkUse links;
    private final SplittableRandom random;
    private final int n;
    private final int levels;
    private final int[] members;
    /** n x n values of links, 0 where there is none, scaled down so that all of a machine sum to less than 2^60. */
    private final long[] cuts;
    /** By place in {@code members}: values of a device's links across the split less those within its half. */
    private final long[] pull;

    /** Roots from which no balanced tree was found, by the fallback either where there is one. */
    private final boolean[] treeless;

    private @Nullable TreeBuilder fallback;
    private boolean failed;

    Bisection(LinkUse links, long seed) {
        this.links = links;
        random = new SplittableRandom(seed);
        n = links.size();
        levels = Integer.SIZE - Integer.numberOfLeadingZeros(n - 1);
        members = new int[n];
        treeless = new boolean[n];
        cuts = new long[n * n];
        pull = new long[n];
    }

    @Override
    public boolean build(int root, int[] parents) {
        if (treeless[root]) {
            return false;
        }
        for (int v = 0; v < n; v++) {
            members[v] = v;
        }
        long[] values = links.values();
        for (int pair : links.pairs()) {
            cuts[pair] = values[pair] >> levels;
        }
        for (int attempt = 0; attempt < TREE_TRIES; attempt++) {
            parents[root] = -1;
            if (split(parents, 0, n, root, levels)) {
                return true;
            }
        }
        failed = true;
        // The existence of a tree does not depend on the values, and the chance to find one hardly does.
        treeless[root] = n > Exact.MAX_DEVICES || !searchSubsets(root, parents);
        return !treeless[root];
    }

    private boolean searchSubsets(int root, int[] parents) {
        if (fallback == null) {
            fallback = new SubsetSearch(links);
        }
        return fallback.build(root, parents);
    }

    /** Several, unless that takes long: on large machines, and where lots did not help and would not the next time. */
    @Override
    public int starts() {
        return failed || n > Exact.MAX_DEVICES ? 1 : STARTS;
    }

    /** Finds a tree of a cluster in the given number of levels; says whether it did. */
    private boolean split(int[] parents, int from, int to, int root, int height) {
        int size = to - from;
        if (size == 1) {
            return true;
        }
        if (size == 2) {
            int other = members[from] == root ? members[from + 1] : members[from];
            parents[other] = root;
            return links.values()[root * n + other] > 0;
        }
        int half = 1 << (height - 1);
        int least = Math.max(1, size - half);
        int most = Math.min(size - 1, half);
        for (int attempt = 0; attempt <= SPLIT_TRIES; attempt++) {
            // The first split is even; the root may be in either half of an odd cluster.
            int first = attempt == 0 ? (size + random.nextInt(2)) / 2 : least + random.nextInt(most - least + 1);
            int middle = from + first;
            shuffle(from, to);
            improve(from, middle, to);
            boolean rootFirst = contains(from, middle, root);
            int child = rootFirst ? heaviestPartner(root, middle, to) : heaviestPartner(root, from, middle);
            if (child >= 0) {
                parents[child] = root;
                return split(parents, from, middle, rootFirst ? root : child, height - 1)
                        && split(parents, middle, to, rootFirst ? child : root, height - 1);
            }
        }
        return false;
    }

    private void shuffle(int from, int to) {
        for (int i = to - 1; i > from; i--) {
            swap(i, from + random.nextInt(i - from + 1));
        }
    }

    private void swap(int i, int j) {
        int device = members[i];
        members[i] = members[j];
        members[j] = device;
    }

    private boolean contains(int from, int to, int device) {
        for (int i = from; i < to; i++) {
            if (members[i] == device) {
                return true;
            }
        }
        return false;
    }

    /** The device of the range that the root meets; ties by lot. -1 where no link leads there. */
    private int heaviestPartner(int root, int from, int to) {
        long best = 0;
        int partner = -1;
        int ties = 0;
        for (int i = from; i < to; i++) {
            long value = links.values()[root * n + members[i]];
            if (value > best) {
                best = value;
                partner = members[i];
                ties = 1;
            } else if (value == best && value > 0 && random.nextInt(++ties) == 0) {
                partner = members[i];
            }
        }
        return partner;
    }

    /** Kernighan-Lin: passes over the two halves of a cluster until one gains nothing. */
    private void improve(int from, int middle, int to) {
        // To exchange two equal halves gains nothing, so the last of their devices need not be tried.
        int swaps = 2 * middle == from + to ? middle - from - 1 : Math.min(middle - from, to - middle);
        while (pass(from, middle, to, swaps)) {
            // The next pass starts from the better halves.
        }
    }

    private boolean pass(int from, int middle, int to, int swaps) {
        for (int i = from; i < to; i++) {
            int row = members[i] * n;
            long sum = 0;
            for (int j = from; j < middle; j++) {
                sum += cuts[row + members[j]];
            }
            for (int j = middle; j < to; j++) {
                sum -= cuts[row + members[j]];
            }
            pull[i] = i < middle ? -sum : sum;
        }
        long gain = 0;
        long bestGain = 0;
        int bestPrefix = 0;
        for (int k = 0; k < swaps; k++) {
            if (k > 0) {
                follow(members[from + k - 1], members[middle + k - 1], from + k, middle, middle + k, to);
            }
            gain += swapBest(from + k, middle, middle + k, to);
            if (gain > bestGain) {
                bestGain = gain;
                bestPrefix = k + 1;
            }
        }
        for (int k = bestPrefix; k < swaps; k++) {
            swap(from + k, middle + k);
        }
        return bestPrefix > 0;
    }

    /**
     * Exchanges the two devices, one of each half, whose exchange gains most, and puts them at the start
     * of their ranges.
     *
     * @return the gain: by how much the values across the split fall
     */
    private long swapBest(int firstFrom, int firstTo, int secondFrom, int secondTo) {
        long best = Long.MIN_VALUE;
        int bestI = firstFrom;
        int bestJ = secondFrom;
        for (int i = firstFrom; i < firstTo; i++) {
            int row = members[i] * n;
            long own = pull[i];
            for (int j = secondFrom; j < secondTo; j++) {
                long gain = own + pull[j] - 2 * cuts[row + members[j]];
                if (gain > best) {
                    best = gain;
                    bestI = i;
                    bestJ = j;
                }
            }
        }
        swap(bestI, firstFrom);
        pull[bestI] = pull[firstFrom];
        swap(bestJ, secondFrom);
        pull[bestJ] = pull[secondFrom];
        swap(firstFrom, secondFrom);
        return best;
    }

    /**
     * Updates the pulls of the devices that are left in both halves after an exchange, of what is first and second now.
     */
    private void follow(int first, int second, int firstFrom, int firstTo, int secondFrom, int secondTo) {
        for (int i = firstFrom; i < firstTo; i++) {
            int row = members[i] * n;
            pull[i] += 2 * (cuts[row + second] - cuts[row + first]);
        }
        for (int j = secondFrom; j < secondTo; j++) {
            int row = members[j] * n;
            pull[j] += 2 * (cuts[row + first] - cuts[row + second]);
        }
    }
}
