package dev.banyan.trees.ring;

import dev.banyan.topology.LinkMatrix;
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
import org.ojalgo.optimisation.Expression;
import org.ojalgo.optimisation.ExpressionsBasedModel;
import org.ojalgo.optimisation.Optimisation;
import org.ojalgo.optimisation.Variable;

/**
 * The search behind {@link RingSet}: maximise the sum of the rings' widths so that no arc is overloaded. Its
 * dual asks for prices of the arcs such that every ring costs at least 1; the rings that the present prices
 * leave too cheap are added one by one. Used once.
 */
final class RingPacking {
    private static final double TOLERANCE = 1e-9;
    private static final int MOST_TERMS = 64;

    private final Network network;
    private final int n;
    /** By ordered pair of ranks: the arcs of the usual path; empty where there is none. */
    private final int[][] paths;

    private final double greatest;

    RingPacking(Network network) {
        this.network = network;
        n = network.ranks();
        paths = new int[n * n][];
        greatest = IntStream.range(0, network.arcs())
                .mapToLong(network::capacity)
                .max()
                .orElse(1);
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
            Map<List<Integer>, int[]> uses = new LinkedHashMap<>();
            widths.keySet().forEach(ring -> uses.put(ring, uses(ring)));
            addCheaper(uses);
            if (uses.size() > widths.size()) {
                widths = widths(uses);
            }
        }
        BigFraction sum = widths.values().stream().reduce(BigFraction.ZERO, BigFraction::add);
        List<Ring> rings = new ArrayList<>();
        widths.forEach((order, width) -> rings.add(new Ring(order, width.divide(sum))));
        return Optional.of(RingSet.of(network, rings));
    }

    /** Whether the rings need all that leads out of some rank, so that no rings can be wider together. */
    private boolean fillsSomeRank(Map<List<Integer>, BigFraction> widths) {
        BigFraction sum = widths.values().stream().reduce(BigFraction.ZERO, BigFraction::add);
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

    private void addCheaper(Map<List<Integer>, int[]> rings) {
        CheapestRing cheapest = new CheapestRing(n);
        while (true) {
            List<Integer> ring = listed(RingFinder.canonical(cheapest.at(pairPrices(arcPrices(rings.values())))));
            if (cheapest.price() >= 1 - TOLERANCE || rings.putIfAbsent(ring, uses(ring)) != null) {
                return;
            }
        }
    }

    /** The least prices of the whole network at which no ring so far costs less than 1. */
    private double[] arcPrices(Collection<int[]> rings) {
        ExpressionsBasedModel model = new ExpressionsBasedModel();
        Variable[] prices = new Variable[network.arcs()];
        for (int arc = 0; arc < prices.length; arc++) {
            prices[arc] = model.newVariable("arc" + arc).lower(0).weight(scaled(arc));
        }
        for (int[] uses : rings) {
            Expression cost =
                    model.newExpression("ring" + model.countExpressions()).lower(1);
            for (int arc = 0; arc < uses.length; arc++) {
                if (uses[arc] > 0) {
                    cost.set(prices[arc], uses[arc]);
                }
            }
        }
        return solution(model.minimise(), prices.length);
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

    private Map<List<Integer>, BigFraction> widths(Map<List<Integer>, int[]> rings) {
        ExpressionsBasedModel model = new ExpressionsBasedModel();
        Expression[] arcs = new Expression[network.arcs()];
        Arrays.setAll(arcs, arc -> model.newExpression("arc" + arc).upper(scaled(arc)));
        for (int[] uses : rings.values()) {
            Variable width =
                    model.newVariable("ring" + model.countVariables()).lower(0).weight(1);
            for (int arc = 0; arc < uses.length; arc++) {
                if (uses[arc] > 0) {
                    arcs[arc].set(width, uses[arc]);
                }
            }
        }
        double[] found = solution(model.maximise(), rings.size());
        double sum = Arrays.stream(found).sum();
        Map<List<Integer>, BigFraction> widths = new LinkedHashMap<>();
        int at = 0;
        for (List<Integer> ring : rings.keySet()) {
            double share = found[at++] / sum;
            if (share > TOLERANCE) {
                widths.put(ring, BigFraction.from(share, TOLERANCE / 10, MOST_TERMS));
            }
        }
        return widths;
    }

    /** Capacities with the greatest as 1, for the solver's sake. */
    private double scaled(int arc) {
        return network.capacity(arc) / greatest;
    }

    private static double[] solution(Optimisation.Result result, int variables) {
        if (!result.getState().isOptimal()) {
            throw new IllegalStateException("no set of rings: the linear program ended as " + result.getState());
        }
        double[] values = new double[variables];
        Arrays.setAll(values, result::doubleValue);
        return values;
    }
}
