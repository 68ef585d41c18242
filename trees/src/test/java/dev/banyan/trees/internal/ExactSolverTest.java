package dev.banyan.trees.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ExactSolverTest {
    @Test
    void solvesByHand() {
        // 2x + y = 5, x + 3y = 4
        ExactSolver solver = new ExactSolver(new int[][] {{2, 1}, {1, 3}});
        CommonFractions x = Objects.requireNonNull(solver.solve(new long[] {5, 4}));
        assertThat(x.denominator()).isEqualTo(5);
        assertThat(x.numerator(0)).isEqualTo(11);
        assertThat(x.numerator(1)).isEqualTo(3);
        assertThat(x.nonNegative()).isTrue();
    }

    @Test
    void hasNoSolutionForASingularMatrix() {
        assertThat(new ExactSolver(new int[][] {{1, 2}, {2, 4}}).solve(new long[] {1, 2}))
                .isNull();
    }

    @Test
    void solvesRandomSystemsBothWays() {
        Random random = new Random(7);
        int solved = 0;
        for (int i = 0; i < 100; i++) {
            int size = 1 + random.nextInt(30);
            int[][] matrix = new int[size][size];
            long[] right = new long[size];
            for (int row = 0; row < size; row++) {
                right[row] = random.nextLong(1L << 40) - (1L << 39);
                for (int column = 0; column < size; column++) {
                    matrix[row][column] = random.nextInt(4);
                }
            }
            ExactSolver solver = new ExactSolver(matrix);
            CommonFractions x = solver.solve(right);
            CommonFractions y = solver.solveTransposed(right);
            if (x != null && y != null) {
                solved++;
                for (int row = 0; row < size; row++) {
                    BigInteger along = BigInteger.ZERO;
                    BigInteger across = BigInteger.ZERO;
                    for (int column = 0; column < size; column++) {
                        along = along.add(x.numerator(column).multiply(BigInteger.valueOf(matrix[row][column])));
                        across = across.add(y.numerator(column).multiply(BigInteger.valueOf(matrix[column][row])));
                    }
                    assertThat(along).isEqualTo(x.denominator().multiply(BigInteger.valueOf(right[row])));
                    assertThat(across).isEqualTo(y.denominator().multiply(BigInteger.valueOf(right[row])));
                }
            }
        }
        assertThat(solved).isGreaterThan(90);
    }
}
