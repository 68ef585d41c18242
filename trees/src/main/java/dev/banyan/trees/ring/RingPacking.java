package dev.banyan.trees.ring;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.internal.Basis;
import dev.banyan.trees.internal.CommonFractions;
import dev.banyan.trees.internal.PackingSimplex;
import dev.banyan.trees.network.Detours;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.ring.RingSet.Ring;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * The search behind {@link RingSet}: maximise the sum of the rings' widths so that no arc is overloaded. Its
 * dual asks for prices of the arcs such that every ring costs at least 1; the rings that the present prices
 * leave too cheap are added one by one. Used once.
 */
final class RingPacking {
    private final Network network;
    private final int n;
    /** By ordered pair of ranks: the arcs of the usual path; empty where there is none. */
    private final int[][] paths;

    RingPacking(Network network) {
        this.network = network;
        n = network.ranks();
        paths = new int[n * n][];
        Detours detours = new Detours(network);
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                List<Integer> nodes = a == b ? null : detours.path(a, b);
                paths[a * n + b] = nodes == null ? new int[0] : arcs(nodes);
            }
        }
    }

    private int[] arcs(List<Integer> nodes) {
        int[] arcs = new int[nodes.size() - 1];
        Arrays.setAll(arcs, hop -> network.arc(nodes.get(hop), nodes.get(hop + 1)));
        return arcs;
    }

    Optional<RingSet> best() {
        Map<List<Integer>, BigFraction> widths = oneByOne();
        if (widths.isEmpty()) {
            return Optional.empty();
        }
        if (n > 3 && n <= RingFinder.MAX_EXACT_DEVICES && !fillsSomeRank(widths)) {
            Map<List<Integer>, BigFraction> optimal = optimal(widths.keySet());
            widths = sum(optimal).compareTo(sum(widths)) > 0 ? optimal : widths;
        }
        BigFraction sum = sum(widths);
        List<Ring> rings = new ArrayList<>();
        widths.forEach((order, width) -> rings.add(new Ring(order, width.divide(sum))));
        return Optional.of(RingSet.of(network, rings));
    }

    private static BigFraction sum(Map<List<Integer>, BigFraction> widths) {
        return widths.values().stream().reduce(BigFraction.ZERO, BigFraction::add);
    }

    /** Returns whether the rings need all that leads out of some rank, so that no rings can be wider together. */
    private boolean fillsSomeRank(Map<List<Integer>, BigFraction> widths) {
        BigFraction sum = sum(widths);
        return IntStream.range(0, n)
                .mapToLong(rank -> IntStream.range(network.firstOut(rank), network.firstOut(rank + 1))
                        .mapToLong(network::capacity)
                        .sum())
                .anyMatch(out -> sum.multiply(2).compareTo(BigFraction.of(out)) == 0);
    }

    /** Rings with their widths in units of capacity, each the widest that the earlier ones leave room for. */
    private Map<List<Integer>, BigFraction> oneByOne() {
        BigFraction[] left = new BigFraction[network.arcs()];
        Arrays.setAll(left, arc -> BigFraction.of(network.capacity(arc)));
        Map<List<Integer>, BigFraction> widths = new LinkedHashMap<>();
        while (true) {
            List<Integer> ring = listed(RingFinder.order(matrix(left)));
            int[] uses = uses(ring);
            BigFraction width = width(uses, left);
            if (width.signum() == 0) {
                return widths;
            }
            for (int arc = 0; arc < uses.length; arc++) {
                left[arc] = left[arc].subtract(width.multiply(uses[arc]));
            }
            widths.merge(ring, width, BigFraction::add);
        }
    }

    private static List<Integer> listed(int[] ring) {
        return Arrays.stream(ring).boxed().toList();
    }

    private LinkMatrix matrix(BigFraction[] left) {
        int[][] classes = new int[n][n];
        double[][] gbs = new double[n][n];
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                gbs[a][b] = Math.min(room(a, b, left), room(b, a, left));
                classes[a][b] = gbs[a][b] > 0 ? LinkMatrix.NVLINKS : LinkMatrix.NONE;
            }
        }
        return new LinkMatrix(classes, gbs);
    }

    private double room(int a, int b, BigFraction[] left) {
        return Arrays.stream(paths[a * n + b])
                .mapToDouble(arc -> left[arc].doubleValue())
                .min()
                .orElse(0);
    }

    /** By arc: how many times a ring crosses it, both ways together; empty where the ring has no path. */
    private int[] uses(List<Integer> ring) {
        int[] uses = new int[network.arcs()];
        for (int i = 0; i < n; i++) {
            int a = ring.get(i);
            int b = ring.get((i + 1) % n);
            if (paths[a * n + b].length == 0 || paths[b * n + a].length == 0) {
                return new int[0];
            }
            for (int arc : paths[a * n + b]) {
                uses[arc]++;
            }
            for (int arc : paths[b * n + a]) {
                uses[arc]++;
            }
        }
        return uses;
    }

    private static BigFraction width(int[] uses, BigFraction[] left) {
        BigFraction width = null;
        for (int arc = 0; arc < uses.length; arc++) {
            if (uses[arc] > 0) {
                BigFraction here = left[arc].divide(uses[arc]);
                width = width == null || here.compareTo(width) < 0 ? here : width;
            }
        }
        return width == null ? BigFraction.ZERO : width;
    }

    /**
     * Returns the widths of rings that are the widest together.
     *
     * @param first rings to begin with
     * @return empty if they have no exact widths
     */
    private Map<List<Integer>, BigFraction> optimal(Collection<List<Integer>> first) {
        PackingSimplex<RingColumn> simplex = new PackingSimplex<>(
                IntStream.range(0, network.arcs()).mapToLong(network::capacity).toArray());
        simplex.pack(first.stream().map(this::column).toList());
        CheapestRing search = new CheapestRing(n);
        while (true) {
            if (!simplex.dropOverpaid()) {
                RingColumn cheapest = column(listed(RingFinder.canonical(search.at(pairPrices(simplex.prices())))));
                if (!simplex.isWorth(cheapest)) {
                    return widths(simplex.basis());
                }
                simplex.enter(cheapest);
            }
        }
    }

    private RingColumn column(List<Integer> ring) {
        return new RingColumn(ring, uses(ring));
    }

    private double[] pairPrices(double[] arcPrices) {
        double[] prices = new double[n * n];
        for (int pair = 0; pair < prices.length; pair++) {
            prices[pair] = paths[pair].length == 0
                    ? Double.POSITIVE_INFINITY
                    : Arrays.stream(paths[pair])
                            .mapToDouble(arc -> arcPrices[arc])
                            .sum();
        }
        double[] bothWays = new double[n * n];
        Arrays.setAll(bothWays, pair -> prices[pair] + prices[pair % n * n + pair / n]);
        return bothWays;
    }

    private static Map<List<Integer>, BigFraction> widths(Basis<RingColumn> basis) {
        CommonFractions amounts = basis.exactAmounts();
        Map<List<Integer>, BigFraction> widths = new LinkedHashMap<>();
        for (int i = 0; amounts != null && i < basis.columns().size(); i++) {
            if (amounts.numerator(i).signum() > 0) {
                widths.put(basis.columns().get(i).order(), BigFraction.of(amounts.numerator(i), amounts.denominator()));
            }
        }
        return widths;
    }
}
