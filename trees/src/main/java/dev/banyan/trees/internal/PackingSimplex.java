package dev.banyan.trees.internal;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The primal simplex method for packings: maximise the sum of columns' amounts so that no row is overloaded.
 * Columns are handed in one by one, each the cheapest under the current {@link #prices prices}; the basis is
 * kept between them.
 *
 * <p>The inverse of the basis is kept densely: O(m^2) time per column and O(m^2) space for m rows. Capacities
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

    private final int rows;
    private final long[] wholeCapacity;
    private final double[] capacity;
    /** By slot of the basis, one for each row: its column, or null for the slack of {@link #slackOf}. */
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
     * @param capacity by row, above 0; at least one
     */
    public PackingSimplex(long[] capacity) {
        rows = capacity.length;
        wholeCapacity = capacity.clone();
        this.capacity = new double[rows];
        column = new ArrayList<>(Collections.nCopies(rows, null));
        slackOf = new int[rows];
        inverse = new double[rows][rows];
        price = new double[rows];
        step = new double[rows];
        double widest = (double) Arrays.stream(capacity).max().orElseThrow();
        for (int row = 0; row < rows; row++) {
            double fraction = (row + 1) * GOLDEN % 1;
            this.capacity[row] = capacity[row] / widest * (1 + RAISE * (0.5 + fraction / 2));
            slackOf[row] = row;
            inverse[row][row] = 1;
        }
        amount = this.capacity.clone();
    }

    /** Returns the price of each row per capacity; changes with every step. */
    public double[] prices() {
        return price;
    }

    /** Returns the number of elementary operations of one step, roughly. */
    public long operations() {
        return (long) rows * rows;
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
        for (int slot = 0; slot < rows; slot++) {
            double sum = 0;
            for (int i = 0; i < entering.rowsUsed(); i++) {
                sum += inverse[slot][entering.row(i)] * entering.uses(i);
            }
            step[slot] = sum;
        }
        pivot(entering, -1, 1 - entering.cost(price));
    }

    /**
     * Leaves capacity of a row unused whose price is below 0.
     *
     * @return whether there was one
     */
    public boolean dropOverpaid() {
        int worst = 0;
        for (int row = 1; row < rows; row++) {
            worst = price[row] < price[worst] ? row : worst;
        }
        if (price[worst] >= -TOLERANCE) {
            return false;
        }
        for (int slot = 0; slot < rows; slot++) {
            step[slot] = inverse[slot][worst];
        }
        pivot(null, worst, -price[worst]);
        return true;
    }

    private void pivot(@Nullable C entering, int slack, double gain) {
        int leaving = leaving();
        double[] pivotSlot = inverse[leaving];
        double pivot = step[leaving];
        for (int row = 0; row < rows; row++) {
            pivotSlot[row] /= pivot;
            price[row] += gain * pivotSlot[row];
        }
        double length = amount[leaving] / pivot;
        for (int other = 0; other < rows; other++) {
            double factor = step[other];
            if (other == leaving || factor == 0) {
                continue;
            }
            amount[other] -= factor * length;
            double[] reduced = inverse[other];
            for (int row = 0; row < rows; row++) {
                reduced[row] -= factor * pivotSlot[row];
            }
        }
        amount[leaving] = length;
        column.set(leaving, entering);
        slackOf[leaving] = slack;
        if (++stepsSinceInversion >= STEPS_PER_INVERSION + rows) {
            invert();
        }
    }

    private int leaving() {
        int leaving = -1;
        for (int slot = 0; slot < rows; slot++) {
            if (step[slot] > LEAST_PIVOT
                    && (leaving < 0 || amount[slot] * step[leaving] < amount[leaving] * step[slot])) {
                leaving = slot;
            }
        }
        if (leaving < 0) {
            throw new IllegalStateException("a column that loads no row");
        }
        return leaving;
    }

    /** Computes the inverse of the basis anew, by Gauss and Jordan, against rounding errors. */
    private void invert() {
        stepsSinceInversion = 0;
        double[][] basis = new double[rows][2 * rows];
        for (int slot = 0; slot < rows; slot++) {
            C some = column.get(slot);
            if (some == null) {
                basis[slackOf[slot]][slot] = 1;
            } else {
                for (int i = 0; i < some.rowsUsed(); i++) {
                    basis[some.row(i)][slot] = some.uses(i);
                }
            }
            basis[slot][rows + slot] = 1;
        }
        for (int at = 0; at < rows; at++) {
            int best = at;
            for (int slot = at + 1; slot < rows; slot++) {
                best = Math.abs(basis[slot][at]) > Math.abs(basis[best][at]) ? slot : best;
            }
            double[] pivotRow = basis[best];
            basis[best] = basis[at];
            basis[at] = pivotRow;
            double pivot = pivotRow[at];
            for (int i = at; i < 2 * rows; i++) {
                pivotRow[i] /= pivot;
            }
            for (int slot = 0; slot < rows; slot++) {
                double factor = basis[slot][at];
                if (slot != at && factor != 0) {
                    for (int i = at; i < 2 * rows; i++) {
                        basis[slot][i] -= factor * pivotRow[i];
                    }
                }
            }
        }
        for (int slot = 0; slot < rows; slot++) {
            System.arraycopy(basis[slot], rows, inverse[slot], 0, rows);
            amount[slot] = 0;
            for (int row = 0; row < rows; row++) {
                amount[slot] += inverse[slot][row] * capacity[row];
            }
        }
        for (int row = 0; row < rows; row++) {
            price[row] = 0;
            for (int slot = 0; slot < rows; slot++) {
                price[row] += column.get(slot) == null ? 0 : inverse[slot][row];
            }
        }
    }

    /** Returns the columns of the basis, with their amounts, and the rows whose slack is not in it. */
    public Basis<C> basis() {
        boolean[] full = new boolean[rows];
        Arrays.fill(full, true);
        List<C> columns = new ArrayList<>();
        double[] amounts = new double[rows];
        for (int slot = 0; slot < rows; slot++) {
            C some = column.get(slot);
            if (some == null) {
                full[slackOf[slot]] = false;
            } else {
                amounts[columns.size()] = amount[slot];
                columns.add(some);
            }
        }
        int[] fullRows = IntStream.range(0, rows).filter(row -> full[row]).toArray();
        return new Basis<>(columns, Arrays.copyOf(amounts, columns.size()), fullRows, wholeCapacity);
    }
}
