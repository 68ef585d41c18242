package dev.banyan.trees.internal;

import java.math.BigInteger;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Exact solutions of square systems of linear equations with small whole coefficients. The inverse modulo a
 * prime gives the solution's p-adic digits one by one, and these its fractions, which are put to the proof.
 * O(k^3) once for k equations, and O(k^2) per digit; there are O(k log k) digits at the very most, mostly a
 * few. Not safe for use from several threads at once.
 *
 * <p>Source: J. D. Dixon, "Exact solution of linear equations using p-adic expansions", Numerische
 * Mathematik 40, 1982, doi:10.1007/BF01459082.
 */
final class ExactSolver {
    private static final long PRIME = (1L << 31) - 1;
    private static final BigInteger BIG_PRIME = BigInteger.valueOf(PRIME);

    private final int[][] matrix;
    private final int size;
    /** Or null if there is none modulo the prime. */
    private final long @Nullable [][] inverse;

    /**
     * @param matrix rows of the coefficients, each below 2^20 in total
     */
    ExactSolver(int[][] matrix) {
        this.matrix = matrix;
        size = matrix.length;
        inverse = inverse(matrix);
    }

    private static long @Nullable [][] inverse(int[][] matrix) {
        int size = matrix.length;
        long[][] rows = new long[size][2 * size];
        for (int row = 0; row < size; row++) {
            for (int column = 0; column < size; column++) {
                rows[row][column] = matrix[row][column];
            }
            rows[row][size + row] = 1;
        }
        for (int at = 0; at < size; at++) {
            int pivotRow = at;
            while (pivotRow < size && rows[pivotRow][at] == 0) {
                pivotRow++;
            }
            if (pivotRow == size) {
                return null;
            }
            long[] pivot = rows[pivotRow];
            rows[pivotRow] = rows[at];
            rows[at] = pivot;
            long factor = power(pivot[at], PRIME - 2);
            for (int i = at; i < 2 * size; i++) {
                pivot[i] = pivot[i] * factor % PRIME;
            }
            for (int row = 0; row < size; row++) {
                long times = rows[row][at];
                if (row != at && times != 0) {
                    for (int i = at; i < 2 * size; i++) {
                        rows[row][i] = (rows[row][i] + (PRIME - times) * pivot[i]) % PRIME;
                    }
                }
            }
        }
        long[][] inverse = new long[size][size];
        for (int row = 0; row < size; row++) {
            System.arraycopy(rows[row], size, inverse[row], 0, size);
        }
        return inverse;
    }

    private static long power(long base, long exponent) {
        long result = 1;
        long square = base;
        for (long left = exponent; left > 0; left >>= 1) {
            result = (left & 1) == 0 ? result : result * square % PRIME;
            square = square * square % PRIME;
        }
        return result;
    }

    /**
     * The solution of matrix x = right.
     *
     * @param right below 2^53 each
     * @return or null if the matrix has no inverse modulo the prime
     */
    @Nullable
    CommonFractions solve(long[] right) {
        return inverse == null ? null : lifted(right, inverse, false);
    }

    /** The solution of transposed(matrix) x = right; else as {@link #solve}. */
    @Nullable
    CommonFractions solveTransposed(long[] right) {
        return inverse == null ? null : lifted(right, inverse, true);
    }

    private @Nullable CommonFractions lifted(long[] right, long[][] inverse, boolean transposed) {
        long[] rest = right.clone();
        long[] digits = new long[size];
        BigInteger[] value = new BigInteger[size];
        Arrays.fill(value, BigInteger.ZERO);
        BigInteger modulus = BigInteger.ONE;
        int tryAt = 4;
        for (int count = 1; count <= mostDigits(); count++) {
            nextDigits(rest, digits, inverse, transposed);
            for (int i = 0; i < size; i++) {
                value[i] = value[i].add(modulus.multiply(BigInteger.valueOf(digits[i])));
            }
            modulus = modulus.multiply(BIG_PRIME);
            if (count == tryAt || count == mostDigits()) {
                CommonFractions fractions = CommonFractions.reconstructed(value, modulus);
                if (fractions != null && solves(fractions, right, transposed)) {
                    return fractions;
                }
                tryAt *= 2;
            }
        }
        return null;
    }

    /** By Hadamard's inequality, with room for the right side and for taking numerator and denominator apart. */
    private int mostDigits() {
        double bits = 64;
        for (int[] row : matrix) {
            double squares = 0;
            for (int entry : row) {
                squares += (double) entry * entry;
            }
            bits += Math.log(squares) / Math.log(2) / 2;
        }
        return 4 + (int) (2 * bits / 30);
    }

    private void nextDigits(long[] rest, long[] digits, long[][] inverse, boolean transposed) {
        Arrays.fill(digits, 0);
        for (int i = 0; i < size; i++) {
            long left = Math.floorMod(rest[i], PRIME);
            if (left != 0) {
                for (int j = 0; j < size; j++) {
                    digits[j] = (digits[j] + (transposed ? inverse[i][j] : inverse[j][i]) * left) % PRIME;
                }
            }
        }
        for (int i = 0; i < size; i++) {
            long sum = 0;
            for (int j = 0; j < size; j++) {
                sum += (transposed ? matrix[j][i] : matrix[i][j]) * digits[j];
            }
            rest[i] = (rest[i] - sum) / PRIME;
        }
    }

    private boolean solves(CommonFractions x, long[] right, boolean transposed) {
        for (int i = 0; i < size; i++) {
            BigInteger sum = BigInteger.ZERO;
            for (int j = 0; j < size; j++) {
                int coefficient = transposed ? matrix[j][i] : matrix[i][j];
                sum = coefficient == 0 ? sum : sum.add(x.numerator(j).multiply(BigInteger.valueOf(coefficient)));
            }
            if (!sum.equals(x.denominator().multiply(BigInteger.valueOf(right[i])))) {
                return false;
            }
        }
        return true;
    }
}
