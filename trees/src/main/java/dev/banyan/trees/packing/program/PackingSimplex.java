package dev.banyan.trees.packing.program;

import java.util.Arrays;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The primal simplex method for packings: maximise the sum of trees' amounts so that no wire is overloaded.
 * Trees are handed in one by one, each the cheapest under the current {@link #price prices}; the basis is
 * kept between them. ojAlgo's solvers can't do that: they begin anew for every tree, which made up nearly
 * all of the time.
 *
 * <p>The inverse of the basis is kept densely: O(m^2) time per tree and O(m^2) space for m wires. Capacities
 * are raised by up to 1e-7 of themselves, each by another amount, so that steps have a length and the method
 * ends on machines that are all symmetry; the basis found is optimal for the true capacities also, which is
 * then computed exactly.
 *
 * <p>Source: L. R. Ford, D. R. Fulkerson, "A suggested computation for maximal multi-commodity network
 * flows", Management Science 5, 1958, doi:10.1287/mnsc.5.1.97; perturbation: A. Charnes, "Optimality and
 * degeneracy in linear programming", Econometrica 20, 1952, doi:10.2307/1907845.
 */
final class PackingSimplex {
    private static final double RAISE = 1e-7;
    private static final double GOLDEN = 0.6180339887498949;
    private static final double LEAST_PIVOT = 1e-9;
    private static final int STEPS_PER_INVERSION = 128;

    private final int wires;
    private final double[] capacity;
    /** By row of the basis: its tree, or null for the slack of {@link #slackOf}. */
    private final @Nullable RoutedTree[] tree;

    private final int[] slackOf;
    private final double[][] inverse;
    private final double[] amount;
    private final double[] price;
    private final double[] step;
    private int stepsSinceInversion;

    /** Nothing is packed yet. Capacities are taken relative to the widest. */
    PackingSimplex(Wires all) {
        wires = all.count();
        capacity = new double[wires];
        tree = new RoutedTree[wires];
        slackOf = new int[wires];
        inverse = new double[wires][wires];
        price = new double[wires];
        step = new double[wires];
        double widest = (double) all.widest();
        for (int wire = 0; wire < wires; wire++) {
            double fraction = (wire + 1) * GOLDEN % 1;
            capacity[wire] = all.capacity(wire) / widest * (1 + RAISE * (0.5 + fraction / 2));
            slackOf[wire] = wire;
            inverse[wire][wire] = 1;
        }
        amount = capacity.clone();
    }

    /** Price of each wire per capacity; changes with every step. */
    double[] prices() {
        return price;
    }

    /** Number of elementary operations of one step, roughly. */
    long operations() {
        return (long) wires * wires;
    }

    /** Packs more of a tree that costs less than 1. */
    void enter(RoutedTree entering) {
        for (int row = 0; row < wires; row++) {
            double sum = 0;
            for (int i = 0; i < entering.wiresUsed(); i++) {
                sum += inverse[row][entering.wire(i)] * entering.uses(i);
            }
            step[row] = sum;
        }
        pivot(entering, -1, 1 - entering.cost(price));
    }

    /**
     * Leaves capacity of a wire unused whose price is below 0.
     *
     * @return whether there was one
     */
    boolean dropOverpaid(double tolerance) {
        int worst = 0;
        for (int wire = 1; wire < wires; wire++) {
            worst = price[wire] < price[worst] ? wire : worst;
        }
        if (price[worst] >= -tolerance) {
            return false;
        }
        for (int row = 0; row < wires; row++) {
            step[row] = inverse[row][worst];
        }
        pivot(null, worst, -price[worst]);
        return true;
    }

    private void pivot(@Nullable RoutedTree entering, int slack, double gain) {
        int leaving = leaving();
        double[] row = inverse[leaving];
        double pivot = step[leaving];
        for (int wire = 0; wire < wires; wire++) {
            row[wire] /= pivot;
            price[wire] += gain * row[wire];
        }
        double length = amount[leaving] / pivot;
        for (int other = 0; other < wires; other++) {
            double factor = step[other];
            if (other == leaving || factor == 0) {
                continue;
            }
            amount[other] -= factor * length;
            double[] reduced = inverse[other];
            for (int wire = 0; wire < wires; wire++) {
                reduced[wire] -= factor * row[wire];
            }
        }
        amount[leaving] = length;
        tree[leaving] = entering;
        slackOf[leaving] = slack;
        if (++stepsSinceInversion >= STEPS_PER_INVERSION + wires) {
            invert();
        }
    }

    private int leaving() {
        int leaving = -1;
        for (int row = 0; row < wires; row++) {
            if (step[row] > LEAST_PIVOT && (leaving < 0 || amount[row] * step[leaving] < amount[leaving] * step[row])) {
                leaving = row;
            }
        }
        if (leaving < 0) {
            throw new IllegalStateException("a tree that loads no wire");
        }
        return leaving;
    }

    /** Computes the inverse of the basis anew, by Gauss and Jordan, against rounding errors. */
    private void invert() {
        stepsSinceInversion = 0;
        double[][] basis = new double[wires][2 * wires];
        for (int row = 0; row < wires; row++) {
            RoutedTree column = tree[row];
            if (column == null) {
                basis[slackOf[row]][row] = 1;
            } else {
                for (int i = 0; i < column.wiresUsed(); i++) {
                    basis[column.wire(i)][row] = column.uses(i);
                }
            }
            basis[row][wires + row] = 1;
        }
        for (int at = 0; at < wires; at++) {
            int best = at;
            for (int row = at + 1; row < wires; row++) {
                best = Math.abs(basis[row][at]) > Math.abs(basis[best][at]) ? row : best;
            }
            double[] pivotRow = basis[best];
            basis[best] = basis[at];
            basis[at] = pivotRow;
            double pivot = pivotRow[at];
            for (int i = at; i < 2 * wires; i++) {
                pivotRow[i] /= pivot;
            }
            for (int row = 0; row < wires; row++) {
                double factor = basis[row][at];
                if (row != at && factor != 0) {
                    for (int i = at; i < 2 * wires; i++) {
                        basis[row][i] -= factor * pivotRow[i];
                    }
                }
            }
        }
        for (int row = 0; row < wires; row++) {
            System.arraycopy(basis[row], wires, inverse[row], 0, wires);
            amount[row] = 0;
            for (int wire = 0; wire < wires; wire++) {
                amount[row] += inverse[row][wire] * capacity[wire];
            }
        }
        for (int wire = 0; wire < wires; wire++) {
            price[wire] = 0;
            for (int row = 0; row < wires; row++) {
                price[wire] += tree[row] == null ? 0 : inverse[row][wire];
            }
        }
    }

    /** The trees of the basis, with their amounts, and the wires whose slack is not in it; with prices as given. */
    FloatPacking packing(double[] prices, boolean optimal) {
        int[] rows = IntStream.range(0, wires).filter(row -> tree[row] != null).toArray();
        boolean[] full = new boolean[wires];
        Arrays.fill(full, true);
        for (int row = 0; row < wires; row++) {
            if (tree[row] == null) {
                full[slackOf[row]] = false;
            }
        }
        return new FloatPacking(
                Arrays.stream(tree).filter(Objects::nonNull).toList(),
                Arrays.stream(rows).mapToDouble(row -> amount[row]).toArray(),
                IntStream.range(0, wires).filter(wire -> full[wire]).toArray(),
                prices,
                optimal);
    }
}
