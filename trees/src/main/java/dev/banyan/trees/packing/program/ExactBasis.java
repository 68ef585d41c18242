package dev.banyan.trees.packing.program;

import java.math.BigInteger;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The exact amounts and prices that belong to a basis: rounded figures only say which basis it is. */
final class ExactBasis {
    /** Beyond this many trees the cubic effort is not spent. */
    private static final int MOST_TREES = 400;

    private ExactBasis() {}

    /** Amount of each tree in common fractions of a unit, or null if too many or not a feasible basis. */
    static @Nullable CommonFractions amounts(FloatPacking packing, Wires wires) {
        if (packing.trees().size() > MOST_TREES) {
            return null;
        }
        long[] capacities = new long[packing.trees().size()];
        Arrays.setAll(capacities, i -> wires.capacity(packing.fullWire(i)));
        CommonFractions amounts = new ExactSolver(matrix(packing)).solve(capacities);
        return amounts != null && amounts.nonNegative() ? amounts : null;
    }

    /**
     * Price of each wire, multiplied by their common denominator.
     *
     * @param greatest what no price nor the denominator may exceed
     * @return or null if that can't be, or it is not an optimal basis
     */
    static long @Nullable [] prices(FloatPacking packing, Wires wires, long greatest) {
        int size = packing.trees().size();
        if (size > MOST_TREES) {
            return null;
        }
        long[] ones = new long[size];
        Arrays.fill(ones, 1);
        CommonFractions exact = new ExactSolver(matrix(packing)).solveTransposed(ones);
        if (exact == null || !exact.nonNegative() || exact.denominator().compareTo(BigInteger.valueOf(greatest)) > 0) {
            return null;
        }
        long[] prices = new long[wires.count()];
        for (int i = 0; i < size; i++) {
            if (exact.numerator(i).compareTo(exact.denominator()) > 0) {
                return null;
            }
            prices[packing.fullWire(i)] = exact.numerator(i).longValueExact();
        }
        return prices;
    }

    /** How often each tree (column) crosses each full wire (row). */
    private static int[][] matrix(FloatPacking packing) {
        int size = packing.trees().size();
        int[][] matrix = new int[size][size];
        for (int column = 0; column < size; column++) {
            RoutedTree tree = packing.trees().get(column);
            int used = 0;
            for (int row = 0; row < size; row++) {
                int wire = packing.fullWire(row);
                while (used < tree.wiresUsed() && tree.wire(used) < wire) {
                    used++;
                }
                if (used < tree.wiresUsed() && tree.wire(used) == wire) {
                    matrix[row][column] = tree.uses(used);
                }
            }
        }
        return matrix;
    }
}
