package dev.banyan.trees.packing.program;

import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.TreePacking;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The optimal allreduce packing on any network: through hubs and relays, over NVLink and PCIe at once, over
 * host memory, and over links that are wider one way than the other.
 *
 * <p>Maximises the sum of the amounts x(T) over all trees T whose logical links take one path each through
 * forwarders, so that no link is overloaded. The dual program prices links: minimise what all capacity costs
 * so that no tree costs less than 1. For given prices the cheapest tree is easy to find: cheapest paths
 * between all ranks, then a minimum spanning tree of these (an arborescence to a rank and another from it
 * where links are uneven). So trees are made only as they are needed ({@link ColumnGeneration}), and the
 * last prices are the certificate.
 *
 * <p>On symmetric networks this is the same optimum as that of the program with logical bandwidths y(u,v),
 * routed within all capacities, of which at least tau (|P| - 1) cross every partition P of the ranks: by
 * Nash-Williams and Tutte trees of total amount tau can be packed in y exactly then. And no other schedule
 * does better: the minimum spanning tree's price is the integral, over price thresholds, of the number of
 * parts that cheaper links leave, less one; and between k parts an element's contributions need 2(k - 1)
 * transfers to be complete in all of them (the gossip theorem for one-way calls, F. Harary, A. J. Schwenk,
 * "The communication problem on graphs and digraphs", J. Franklin Institute 297, 1974).
 * Where links are uneven the bound is that of all schedules which
 * complete every element at some rank and spread it from there.
 *
 * <p>Floating point only finds which trees are in the optimum. Their shares, the rate and the bound are then
 * computed exactly, so that a ratio of exactly 1 is proven. Where that fails (more trees than can be solved
 * for exactly, or prices too long), or the effort runs out on a huge network, shares and prices are rounded;
 * rate and bound are exact still, and the ratio is below 1.
 *
 * <p>Of the optimal packings found one with shallow trees and then with few is taken: a heuristic.
 *
 * <p>A step takes O(m^2) for m links, and the cheapest tree O(n (f^2 + arcs) + n^2) for n ranks and f
 * forwarders (n arborescences of O(n^3) where links are uneven); there are a few steps per link, as a rule.
 * Effort is limited by a count of operations, not by time: same network, same trees. Safe for use from any
 * thread.
 *
 * <p>Sources: column generation: L. R. Ford, D. R. Fulkerson, "A suggested computation for maximal
 * multi-commodity network flows", Management Science 5, 1958, doi:10.1287/mnsc.5.1.97; spanning trees and
 * partitions: C. St. J. A. Nash-Williams, "Edge-disjoint spanning trees of finite graphs", J. London Math.
 * Soc. 36, 1961, doi:10.1112/jlms/s1-36.1.445, and W. T. Tutte, "On the problem of decomposing a graph into
 * n connected factors", same volume, doi:10.1112/jlms/s1-36.1.221.
 */
public final class HubPacking {
    /** Some ten seconds or more; machines of 64 devices take a few hundredths of it. */
    private static final long EFFORT = 20_000_000_000L;
    /** As a share of the whole effort, for the choice of shallow and few trees. */
    private static final int CHOICE = 50;
    /** As a share of the whole effort, for fewer trees than the optimum takes. */
    private static final int EXCHANGES = 50;

    private final CapacityRows rows;
    private final PricedPaths paths;
    private final TreePricing anyTree;
    private final ColumnGeneration generation;
    private final long effort;

    /**
     * The best packing.
     *
     * @param selection the trees from which some are left out if fewer are asked for
     * @param alternatives further trees that may be part of an optimal packing
     */
    private record Found(PriceBound bound, FloatPacking selection, WeightedTrees trees, List<TreeShape> alternatives) {}

    private @Nullable Found found;
    private @Nullable List<WeightedTrees> fewer;

    /** Packs nothing yet. */
    public HubPacking(Network network) {
        this(network, EFFORT);
    }

    /** @param effort elementary operations, roughly; at least 1 */
    HubPacking(Network network, long effort) {
        this.effort = effort;
        rows = new CapacityRows(network);
        paths = new PricedPaths(rows);
        generation = new ColumnGeneration(paths);
        anyTree = network.symmetric() ? new CheapestTree(network.ranks()) : new CheapestTreePair(network.ranks());
    }

    /**
     * Returns the optimal packing, or the best found of at most so many trees.
     *
     * @param maxTrees at least 1; more trees are never slower
     */
    public synchronized TreePacking ofAtMost(int maxTrees) {
        if (found == null) {
            found = find();
        }
        Found all = found;
        if (all.trees.count() <= maxTrees) {
            return all.trees.packing(all.bound.bound());
        }
        if (fewer == null) {
            fewer = new FewColumns(generation, rows.areLinks(), new Effort(effort / EXCHANGES))
                    .everFewer(all.selection, all.alternatives).stream()
                            .map(selection -> WeightedTrees.of(selection, rows))
                            .toList();
        }
        return fewer.stream()
                .filter(trees -> trees.count() <= maxTrees)
                .max(Comparator.comparing(WeightedTrees::rateUnits))
                .orElseThrow()
                .packing(all.bound.bound());
    }

    private Found find() {
        FloatPacking packing = generation.run(anyTree, new Effort(effort));
        PriceBound bound = bound(packing);
        WeightedTrees trees = WeightedTrees.of(packing, rows);
        List<TreeShape> alternatives = alternatives(bound);
        if (!packing.optimal()) {
            return new Found(simplest(bound), packing, trees, alternatives);
        }
        FloatPacking selection = new FewColumns(generation, rows.areLinks(), new Effort(effort / CHOICE))
                .withoutLoss(packing, alternatives, bound);
        WeightedTrees chosen = WeightedTrees.of(selection, rows);
        return new Found(
                simplest(bound),
                selection,
                chosen.rateUnits().compareTo(trees.rateUnits()) >= 0 ? chosen : trees,
                alternatives);
    }

    /**
     * Returns the bound that prices only the links of the ranks, which is easier to follow, if it is no higher than the
     * given one; else the given one. A link between two ranks has twice the price.
     */
    private PriceBound simplest(PriceBound bound) {
        Network network = rows.network();
        long[] ofRanks = new long[rows.count()];
        for (int arc = 0; arc < network.arcs(); arc++) {
            int ends = network.from(arc) < network.ranks() ? 1 : 0;
            ends += network.to(arc) < network.ranks() ? 1 : 0;
            ofRanks[rows.ofArc(arc)] = ends;
        }
        PriceBound simple = new PriceBound(ofRanks, paths, anyTree);
        return simple.bounds() && simple.units().compareTo(bound.units()) <= 0 ? simple : bound;
    }

    /** The trees found that may be part of an optimal packing. */
    private List<TreeShape> alternatives(PriceBound bound) {
        bound.findPaths(paths);
        return generation.found().stream()
                .filter(tree -> bound.isCheapest(tree, paths))
                .toList();
    }

    private PriceBound bound(FloatPacking packing) {
        long[] prices = packing.optimal() ? packing.basis().exactPrices(paths.greatestPrice()) : null;
        if (prices == null) {
            double scale = paths.scale();
            prices = new long[rows.count()];
            for (int row = 0; row < prices.length; row++) {
                prices[row] = Math.round(Math.clamp(packing.price(row), 0, 2) * scale);
            }
        }
        PriceBound bound = new PriceBound(prices, paths, anyTree);
        return bound.bounds() ? bound : new PriceBound(pricesByWidth(), paths, anyTree);
    }

    /** Prices under which no tree is free. */
    private long[] pricesByWidth() {
        double narrowest = (double) rows.narrowest();
        double scale = paths.scale();
        long[] prices = new long[rows.count()];
        Arrays.setAll(prices, row -> Math.max(1, Math.round(narrowest / rows.capacity(row) * scale)));
        return prices;
    }
}
