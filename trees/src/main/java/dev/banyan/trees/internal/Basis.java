package dev.banyan.trees.internal;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The basis of a packing: as many columns as wires that they fill. Its amounts are rounded; the exact amounts and
 * prices follow from which columns and wires these are. Immutable.
 */
public final class Basis<C extends Column> {
    /** Beyond this many columns the cubic effort is not spent. */
    private static final int MOST_COLUMNS = 400;

    private final List<C> columns;
    private final double[] amounts;
    private final int[] fullWires;
    private final long[] capacity;

    /**
     * @param amounts by column, in widest capacities
     * @param fullWires ascending; as many as columns
     * @param capacity by wire
     */
    Basis(List<C> columns, double[] amounts, int[] fullWires, long[] capacity) {
        this.columns = List.copyOf(columns);
        this.amounts = amounts;
        this.fullWires = fullWires;
        this.capacity = capacity;
    }

    /** Returns the columns, in no order that means anything. */
    public List<C> columns() {
        return columns;
    }

    /** Returns the amount of a column in widest capacities, rounded. */
    public double amount(int column) {
        return amounts[column];
    }

    /** Returns the sum of all amounts in widest capacities, rounded. */
    public double total() {
        double sum = 0;
        for (double amount : amounts) {
            sum += amount;
        }
        return sum;
    }

    /** Returns the amount of each column in units of capacity, or null if there are too many or it is not feasible. */
    public @Nullable CommonFractions exactAmounts() {
        if (columns.size() > MOST_COLUMNS) {
            return null;
        }
        long[] right =
                Arrays.stream(fullWires).mapToLong(wire -> capacity[wire]).toArray();
        CommonFractions exact = new ExactSolver(matrix()).solve(right);
        return exact != null && exact.nonNegative() ? exact : null;
    }

    /**
     * Returns the price of each wire, multiplied by their common denominator.
     *
     * @param greatest what no price nor the denominator may exceed
     * @return null if there are no such prices, or it is not an optimal basis
     */
    public long @Nullable [] exactPrices(long greatest) {
        int size = columns.size();
        if (size > MOST_COLUMNS) {
            return null;
        }
        long[] ones = new long[size];
        Arrays.fill(ones, 1);
        CommonFractions exact = new ExactSolver(matrix()).solveTransposed(ones);
        if (exact == null || !exact.nonNegative() || exact.denominator().compareTo(BigInteger.valueOf(greatest)) > 0) {
            return null;
        }
        long[] prices = new long[capacity.length];
        for (int i = 0; i < size; i++) {
            if (exact.numerator(i).compareTo(exact.denominator()) > 0) {
                return null;
            }
            prices[fullWires[i]] = exact.numerator(i).longValueExact();
        }
        return prices;
    }

    /** Returns how often each column crosses each full wire (row). */
    private int[][] matrix() {
        int size = columns.size();
        int[][] matrix = new int[size][size];
        for (int i = 0; i < size; i++) {
            C column = columns.get(i);
            int used = 0;
            for (int row = 0; row < size; row++) {
                while (used < column.wiresUsed() && column.wire(used) < fullWires[row]) {
                    used++;
                }
                if (used < column.wiresUsed() && column.wire(used) == fullWires[row]) {
                    matrix[row][i] = column.uses(used);
                }
            }
        }
        return matrix;
    }
}
