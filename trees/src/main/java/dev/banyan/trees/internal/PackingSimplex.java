package dev.banyan.trees.internal;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The primal simplex method for packings: maximise the sum of columns' amounts so that no wire is overloaded.
 * Columns are handed in one by one, each the cheapest under the current {@link #prices prices}; the basis is
 * kept between them.
 *
 * <p>The inverse of the basis is kept densely: O(m^2) time per column and O(m^2) space for m wires. Capacities
 * are raised by up to 1e-7 of themselves, each by another amount, so that steps have a length and the method
 * ends on machines that are all symmetry; the basis found is optimal for the true capacities also, which is
 * then computed exactly. Not safe for use from several threads at once.
 *
 * <p>Source: L. R. Ford, D. R. Fulkerson, "A suggested computation for maximal multi-commodity network
 * flows", Management Science 5, 1958, doi:10.1287/mnsc.5.1.97; perturbation: A. Charnes, "Optimality and
 * degeneracy in linear programming", Econometrica 20, 1952, doi:10.2307/1907845.
 */
public final class PackingSimplex<C extends Column> {
    /** Columns that cost less than 1 by no more than this are not worth to enter. */
    private static final double TOLERANCE = 1e-10;

    private static final double RAISE = 1e-7;
    private static final double GOLDEN = 0.6180339887498949;
    private static final double LEAST_PIVOT = 1e-9;
    private static final int STEPS_PER_INVERSION = 128;

    private final int wires;
    private final long[] wholeCapacity;
    private final double[] capacity;
    /** By row of the basis: its column, or null for the slack of {@link #slackOf}. */
    private final List<@Nullable C> column;

    private final int[] slackOf;
    private final double[][] inverse;
    private final double[] amount;
    private final double[] price;
    private final double[] step;
    private int stepsSinceInversion;

    /**
     * Begins with nothing packed. Capacities are taken relative to the widest.
     *
     * @param capacity by wire, above 0; at least one
     */
    public PackingSimplex(long[] capacity) {
        wires = capacity.length;
        wholeCapacity = capacity.clone();
        this.capacity = new double[wires];
        column = new ArrayList<>(Collections.nCopies(wires, null));
        slackOf = new int[wires];
        inverse = new double[wires][wires];
        price = new double[wires];
        step = new double[wires];
        double widest = (double) Arrays.stream(capacity).max().orElseThrow();
        for (int wire = 0; wire < wires; wire++) {
            double fraction = (wire + 1) * GOLDEN % 1;
            this.capacity[wire] = capacity[wire] / widest * (1 + RAISE * (0.5 + fraction / 2));
            slackOf[wire] = wire;
            inverse[wire][wire] = 1;
        }
        amount = this.capacity.clone();
    }

    /** Returns the price of each wire per capacity; changes with every step. */
    public double[] prices() {
        return price;
    }

    /** Returns the number of elementary operations of one step, roughly. */
    public long operations() {
        return (long) wires * wires;
    }

    /** Packs as much as possible of some columns together with those of before. */
    public Basis<C> pack(List<C> columns) {
        while (true) {
            if (!dropOverpaid()) {
                C cheapest = Collections.min(columns, Comparator.comparingDouble(some -> some.cost(price)));
                if (!isWorth(cheapest)) {
                    return basis();
                }
                enter(cheapest);
            }
        }
    }

    /** Returns whether a column costs so little that more of it should be packed. */
    public boolean isWorth(C some) {
        return some.cost(price) < 1 - TOLERANCE;
    }

    /** Packs more of a column that {@linkplain #isWorth is worth} it. */
    public void enter(C entering) {
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
    public boolean dropOverpaid() {
        int worst = 0;
        for (int wire = 1; wire < wires; wire++) {
            worst = price[wire] < price[worst] ? wire : worst;
        }
        if (price[worst] >= -TOLERANCE) {
            return false;
        }
        for (int row = 0; row < wires; row++) {
            step[row] = inverse[row][worst];
        }
        pivot(null, worst, -price[worst]);
        return true;
    }

    private void pivot(@Nullable C entering, int slack, double gain) {
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
        column.set(leaving, entering);
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
            throw new IllegalStateException("a column that loads no wire");
        }
        return leaving;
    }

    /** Computes the inverse of the basis anew, by Gauss and Jordan, against rounding errors. */
    private void invert() {
        stepsSinceInversion = 0;
        double[][] basis = new double[wires][2 * wires];
        for (int row = 0; row < wires; row++) {
            C some = column.get(row);
            if (some == null) {
                basis[slackOf[row]][row] = 1;
            } else {
                for (int i = 0; i < some.wiresUsed(); i++) {
                    basis[some.wire(i)][row] = some.uses(i);
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
                price[wire] += column.get(row) == null ? 0 : inverse[row][wire];
            }
        }
    }

    /** Returns the columns of the basis, with their amounts, and the wires whose slack is not in it. */
    public Basis<C> basis() {
        boolean[] full = new boolean[wires];
        Arrays.fill(full, true);
        List<C> columns = new ArrayList<>();
        double[] amounts = new double[wires];
        for (int row = 0; row < wires; row++) {
            C some = column.get(row);
            if (some == null) {
                full[slackOf[row]] = false;
            } else {
                amounts[columns.size()] = amount[row];
                columns.add(some);
            }
        }
        int[] fullWires = IntStream.range(0, wires).filter(wire -> full[wire]).toArray();
        return new Basis<>(columns, Arrays.copyOf(amounts, columns.size()), fullWires, wholeCapacity);
    }
}
