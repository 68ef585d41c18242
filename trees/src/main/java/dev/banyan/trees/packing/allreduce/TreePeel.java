package dev.banyan.trees.packing.allreduce;

import dev.banyan.trees.internal.DuplexLinks;
import dev.banyan.trees.internal.WeakestPartition;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import org.apache.commons.numbers.fraction.BigFraction;
import org.jspecify.annotations.Nullable;

/**
 * Takes spanning trees off the links of a graph, one after the other and as much of each as possible, until a
 * given weight is reached. What is left can always carry the rest: that is so if and only if no partition P
 * of the ranks has less than (|P| - 1) times the weight left between its parts (Nash-Williams, Tutte), which
 * {@link WeakestPartition} checks after every tree. If it finds one, less of the tree is taken, or another
 * tree tried, and the partition is remembered.
 *
 * <p>A tree may be taken at all only if it crosses every partition without slack as seldom as it can; the
 * minimum spanning trees under the number of such partitions that a link crosses are just those. Among them a
 * taste decides: wide links, partitions with little slack, depth, chance. Weights are whole numbers, scaled
 * up in the rare case that less than 1 of any tree tried can be taken. A tree that is taken as far as
 * possible empties a link or leaves one more partition without slack, independent of the others; so it ends
 * after O(links + ranks) of them, and in practice after far fewer.
 *
 * <p>The approach is that of F. Barahona, "Packing spanning trees", Math. Oper. Res. 20(1), 1995,
 * doi:10.1287/moor.20.1.104.
 *
 * <p>Not safe for use from several threads at once.
 */
final class TreePeel {
    /** Trees grown to choose one from. */
    private static final int CANDIDATES = 8;
    /** Trees tried before weights are scaled. */
    private static final int TRIES = 6;
    /** Greatest sum in units: room for all that {@link WeakestPartition} does with it. */
    private static final double MOST = 0x1p60;
    /** Bits of the soft part of a price. */
    private static final int SOFT_BITS = 40;
    /** Bits after the point of the soft part of a price. */
    private static final int MOST_FRACTION_BITS = 26;

    private final DuplexLinks links;
    private final int ranks;
    private final long[] capacity;
    private final long total;
    private final WeakestPartition weakest;
    private final KnownPartitions partitions;
    private final long[] residual;
    private final long[] after;
    /** By link: the logarithm of its residual capacity and one. */
    private final double[] widths;

    private long left;
    private long scale;

    private final int[] hard;
    private final double[] soft;
    /** By link: what decides between links that a tree may take, the hard part above {@link #SOFT_BITS}. */
    private final long[] prices;
    /** The additional cost of a link for each level between it and the root. */
    private long levelPrice;

    private final boolean[] grown;
    private final int[] via;
    private final CheapestRanks reachable;
    private final int[] levels;
    private final int[] tree;
    private final int[] best;
    /** The links of {@link #tree} and {@link #best} as sets. */
    private long[] mask;

    private long[] bestMask;
    private int height;
    /** The known part of the best tree that can be taken. */
    private long bestWeight;

    private int bestHeight;
    private long work;

    /**
     * The preference among trees: the rise of a link's price for each e-fold that it is narrower, for partitions with
     * little slack, for each level of depth, and by chance.
     */
    record Taste(double width, double slack, double depth, double chance) {}

    /** A weight that was taken of a tree, {@code scale} times as large as in units of the total. */
    private record Take(LinkTree tree, long weight, long scale) {}

    /**
     * @param capacity by link
     * @param total weight of all trees together, which the links can carry
     */
    TreePeel(DuplexLinks links, long[] capacity, long total) {
        this.links = links;
        this.capacity = capacity.clone();
        this.total = total;
        ranks = links.nodes();
        weakest = new WeakestPartition(links);
        partitions = new KnownPartitions(links);
        residual = capacity.clone();
        after = new long[capacity.length];
        widths = new double[capacity.length];
        hard = new int[capacity.length];
        soft = new double[capacity.length];
        prices = new long[capacity.length];
        grown = new boolean[ranks];
        via = new int[ranks];
        reachable = new CheapestRanks(ranks);
        levels = new int[ranks];
        tree = new int[ranks - 1];
        best = new int[ranks - 1];
        mask = partitions.emptySet();
        bestMask = partitions.emptySet();
        for (int rank = 0; rank < ranks && ranks > 2; rank++) {
            int alone = rank;
            int another = rank == 0 ? 1 : 0;
            partitions.add(r -> r == alone ? alone : another, residual, total);
        }
    }

    /** Steps of computation so far, roughly. */
    long work() {
        return work;
    }

    /**
     * Takes the trees.
     *
     * @param taste which
     * @param seed of chance
     * @return the forest, its weights as shares of the total; they sum to less than 1 only if numbers grew
     *     too large to go on
     */
    LinkForest peel(Taste taste, long seed) {
        return Objects.requireNonNull(peel(taste, seed, Integer.MAX_VALUE));
    }

    /**
     * As {@link #peel(Taste, long)}, but gives up once {@link LinkForest#cost} will be too much.
     *
     * @return the forest, or null
     */
    @Nullable
    LinkForest peel(Taste taste, long seed, int maxCost) {
        Random random = new Random(seed);
        System.arraycopy(capacity, 0, residual, 0, capacity.length);
        left = total;
        scale = 1;
        measureWidths();
        partitions.restart(residual, left);
        List<Take> takes = new ArrayList<>();
        Set<LinkTree> trees = new HashSet<>();
        int depth = 0;
        int tries = 0;
        for (int steps = 0; left > 0; steps++) {
            price(taste, random);
            choose(random);
            boolean exact = tries == TRIES || steps > links.links() + ranks;
            long weight = exact ? exactly(best, bestMask) : most(best, bestMask);
            while (weight > 0 && !leavesEnough(best, weight)) {
                partitions.add(weakest::part, residual, left);
                weight = exact ? exactly(best, bestMask) : most(best, bestMask);
            }
            if (weight > 0) {
                tries = 0;
                take(best, bestMask, weight);
                LinkTree shaped = new LinkTree(links, best);
                takes.add(new Take(shaped, weight, scale));
                trees.add(shaped);
                depth = Math.max(depth, shaped.depth());
                if (LinkForest.cost(trees.size(), depth, ranks) > maxCost) {
                    return null;
                }
            } else {
                int tightest = partitions.tightest(bestMask, 1);
                if (partitions.slack(tightest) > 0) {
                    if (exact) {
                        break;
                    }
                    partitions.avoid(tightest);
                    tries++;
                }
            }
        }
        return forest(takes);
    }

    private LinkForest forest(List<Take> takes) {
        Map<LinkTree, BigFraction> taken = new LinkedHashMap<>();
        for (Take take : takes) {
            taken.merge(take.tree, BigFraction.of(take.weight, total).divide(take.scale), BigFraction::add);
        }
        return new LinkForest(
                taken.keySet().stream().toList(), taken.values().stream().toList());
    }

    /**
     * Prices the links: the hard part above {@link #SOFT_BITS}, and the soft part below in units small enough
     * that it has room there together with the price of all levels of a tree.
     */
    private void price(Taste taste, Random random) {
        Arrays.fill(hard, 0);
        Arrays.fill(soft, 0);
        partitions.price(hard, soft, taste.slack * left);
        double low = Double.POSITIVE_INFINITY;
        double high = Double.NEGATIVE_INFINITY;
        for (int link = 0; link < soft.length; link++) {
            soft[link] += taste.chance * random.nextDouble() - taste.width * widths[link];
            low = Math.min(low, soft[link]);
            high = Math.max(high, soft[link]);
        }
        int exponent = Math.getExponent(high - low + taste.depth * ranks);
        double units = Math.scalb(1.0, Math.min(MOST_FRACTION_BITS, SOFT_BITS - 1 - exponent));
        for (int link = 0; link < soft.length; link++) {
            prices[link] = ((long) hard[link] << SOFT_BITS) + (long) ((soft[link] - low) * units);
        }
        levelPrice = (long) (taste.depth * units);
        work += (long) partitions.size() * soft.length / 4 + 4L * soft.length;
    }

    /** Finds of some trees the one of which most can be taken, as far as known; of these the one grown least high. */
    private void choose(Random random) {
        Arrays.fill(bestMask, 0);
        bestWeight = -1;
        bestHeight = 0;
        for (int i = 0; i < Math.min(ranks, CANDIDATES); i++) {
            if (grow(ranks <= CANDIDATES ? i : random.nextInt(ranks))) {
                KnownPartitions.mask(tree, mask);
                // Trees from different roots are often the same.
                if (height < bestHeight || !Arrays.equals(mask, bestMask)) {
                    keepIfBetter();
                }
            }
            work += (long) ranks * ranks + 2L * residual.length + (long) partitions.size() * mask.length;
        }
    }

    /** Returns the least weight with which a tree of so many levels is better than the best. */
    private long enough(int levels) {
        return levels < bestHeight ? bestWeight : bestWeight + 1;
    }

    private void keepIfBetter() {
        long enough = enough(height);
        if (narrowest(tree) >= enough && partitions.allow(mask, enough)) {
            bestWeight = mostKnown(tree, mask);
            bestHeight = height;
            System.arraycopy(tree, 0, best, 0, best.length);
            long[] spare = bestMask;
            bestMask = mask;
            mask = spare;
        }
    }

    /**
     * Prim's algorithm; height matters only among links of the same hard price, so the tree is minimal for
     * that.
     *
     * @return false if the tree is not grown to its end, as it cannot be better than the best
     */
    private boolean grow(int root) {
        Arrays.fill(grown, false);
        grown[root] = true;
        levels[root] = 0;
        height = 0;
        int rank = root;
        for (int size = 0; size < tree.length; size++) {
            long deeper = levelPrice * levels[rank];
            int stop = links.firstEnd(rank + 1);
            for (int i = links.firstEnd(rank); i < stop; i++) {
                int other = links.neighbour(i);
                if (!grown[other]) {
                    int end = links.end(i);
                    int link = end >> 1;
                    if (residual[link] > 0 && reachable.offer(other, prices[link] + deeper)) {
                        via[other] = end;
                    }
                }
            }
            int next = reachable.poll();
            int link = via[next] >> 1;
            grown[next] = true;
            levels[next] = levels[links.rankAt(via[next])] + 1;
            height = Math.max(height, levels[next]);
            if (Math.min(left, residual[link]) < enough(height)) {
                reachable.clear();
                return false;
            }
            tree[size] = link;
            rank = next;
        }
        return true;
    }

    /** Returns the known part of a tree that can be taken, rounded down. */
    private long most(int[] tree, long[] mask) {
        work += (long) partitions.size() * mask.length;
        return mostKnown(tree, mask);
    }

    private long mostKnown(int[] tree, long[] mask) {
        long narrowest = narrowest(tree);
        int tightest = partitions.tightest(mask, narrowest);
        return tightest < 0 ? narrowest : partitions.slack(tightest) / partitions.excess(tightest, mask);
    }

    /** The same, but scales first so that nothing is rounded off, if numbers don't grow too large by that. */
    private long exactly(int[] tree, long[] mask) {
        int tightest = partitions.tightest(mask, narrowest(tree));
        if (tightest >= 0) {
            long slack = partitions.slack(tightest);
            int excess = partitions.excess(tightest, mask);
            if (slack % excess != 0 && scale(excess)) {
                return slack;
            }
        }
        return most(tree, mask);
    }

    private long narrowest(int[] tree) {
        long narrowest = left;
        for (int link : tree) {
            narrowest = Math.min(narrowest, residual[link]);
        }
        return narrowest;
    }

    private boolean leavesEnough(int[] tree, long weight) {
        System.arraycopy(residual, 0, after, 0, residual.length);
        for (int link : tree) {
            after[link] -= weight;
        }
        work += (long) ranks * ranks + 8L * residual.length;
        return left == weight || weakest.find(after, left - weight) == 0;
    }

    private void take(int[] tree, long[] mask, long weight) {
        for (int link : tree) {
            residual[link] -= weight;
            widths[link] = Math.log(residual[link] + 1.0);
        }
        left -= weight;
        partitions.take(mask, weight);
    }

    private boolean scale(int factor) {
        double sum = (double) left * ranks;
        for (long amount : residual) {
            sum += amount;
        }
        if (sum * factor > MOST) {
            return false;
        }
        for (int link = 0; link < residual.length; link++) {
            residual[link] *= factor;
        }
        left *= factor;
        scale *= factor;
        partitions.scale(factor);
        measureWidths();
        return true;
    }

    private void measureWidths() {
        for (int link = 0; link < residual.length; link++) {
            widths[link] = Math.log(residual[link] + 1.0);
        }
    }
}
