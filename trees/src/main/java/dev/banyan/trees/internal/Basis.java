package dev.banyan.trees.internal;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The basis of a packing: as many columns as rows that they fill. Its amounts are rounded; the exact amounts and
 * prices follow from which columns and rows these are. Immutable.
 */
public final class Basis<C extends Column> {
    /** Beyond this many columns the cubic effort is not spent. */
    private static final int MOST_COLUMNS = 400;

    private final List<C> columns;
    private final double[] amounts;
    private final int[] fullRows;
    private final long[] capacity;

    /**
     * @param amounts by column, in widest capacities
     * @param fullRows ascending; as many as columns
     * @param capacity by row
     */
    Basis(List<C> columns, double[] amounts, int[] fullRows, long[] capacity) {
        this.columns = List.copyOf(columns);
        this.amounts = amounts;
        this.fullRows = fullRows;
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
        long[] right = Arrays.stream(fullRows).mapToLong(row -> capacity[row]).toArray();
        CommonFractions exact = new ExactSolver(matrix()).solve(right);
        return exact != null && exact.nonNegative() ? exact : null;
    }

    /**
     * Returns the price of each row, multiplied by their common denominator.
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
            prices[fullRows[i]] = exact.numerator(i).longValueExact();
        }
        return prices;
    }

    /** Returns how often each column uses each full row. */
    private int[][] matrix() {
        int size = columns.size();
        int[][] matrix = new int[size][size];
        for (int i = 0; i < size; i++) {
            C column = columns.get(i);
            int used = 0;
            for (int full = 0; full < size; full++) {
                while (used < column.rowsUsed() && column.row(used) < fullRows[full]) {
                    used++;
                }
                if (used < column.rowsUsed() && column.row(used) == fullRows[full]) {
                    matrix[full][i] = column.uses(used);
                }
            }
        }
        return matrix;
    }
}
