package dev.banyan.schedule.internal.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.trees.packing.PackedTree;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;

class PartitionTest {
    private static List<PackedTree> trees(double... shares) {
        List<PackedTree> trees = new ArrayList<>();
        for (double share : shares) {
            trees.add(PackedTree.of(BigFraction.from(share), Samples.line(2)));
        }
        return trees;
    }

    @Test
    void slicesBySharesOnAlignedEdges() {
        assertThat(Partition.slices(1000, 4, trees(0.25, 0.5, 0.25))).containsExactly(0, 256, 752, 1000);
        assertThat(Partition.slices(1_000_000, 4, trees(1, 1))).containsExactly(0, 500_000, 1_000_000);
        assertThat(Partition.slices(0, 4, trees(1, 1))).containsExactly(0, 0, 0);
        assertThat(Partition.slices(3, 4, trees(1, 1, 1))).containsExactly(0, 1, 2, 3);
        assertThat(Partition.slices(12, 3, trees(1, 1, 1))).containsExactly(0, 4, 8, 12);
    }

    @Test
    void slicesKeepToTheirShares() {
        Random random = new Random(1);
        for (int i = 0; i < 10_000; i++) {
            double[] shares = new double[1 + random.nextInt(20)];
            double total = 0;
            for (int s = 0; s < shares.length; s++) {
                shares[s] = random.nextDouble() + 1e-6;
                total += shares[s];
            }
            long count = random.nextLong(1L << random.nextInt(1, 50));
            int elementBytes = 1 << random.nextInt(4);
            long[] edges = Partition.slices(count, elementBytes, trees(shares));
            assertThat(edges)
                    .hasSize(shares.length + 1)
                    .isSorted()
                    .startsWith(0)
                    .endsWith(count);
            int unit = 64 / elementBytes;
            boolean aligned = count / unit >= shares.length;
            for (int s = 0; s < shares.length; s++) {
                double slack = (aligned ? 2.0 * unit : 1.0) + count * 1e-9;
                assertThat((double) (edges[s + 1] - edges[s]))
                        .isBetween(count * shares[s] / total - slack, count * shares[s] / total + slack);
                assertThat(!aligned || edges[s] % unit == 0).isTrue();
            }
        }
    }

    @Test
    void chunksAreEvenAlignedAndWithinTheLimit() {
        assertThat(Partition.chunks(100, 4, Long.MAX_VALUE)).containsExactly(0, 100);
        assertThat(Partition.chunks(100, 4, 200)).containsExactly(0, 48, 80, 100);
        assertThat(Partition.chunks(5, 8, 8)).containsExactly(0, 1, 2, 3, 4, 5);
        Random random = new Random(2);
        for (int i = 0; i < 10_000; i++) {
            long length = 1 + random.nextLong(100_000);
            int elementBytes = 1 << random.nextInt(4);
            long chunkBytes = Math.max(elementBytes + random.nextLong(1 << 16), length * elementBytes / 100);
            long[] edges = Partition.chunks(length, elementBytes, chunkBytes);
            assertThat(edges).startsWith(0).endsWith(length);
            long least = Long.MAX_VALUE;
            long most = 0;
            for (int c = 1; c < edges.length; c++) {
                long elements = edges[c] - edges[c - 1];
                assertThat(elements * elementBytes).isBetween(1L, chunkBytes);
                assertThat(chunkBytes < 64 || edges[c - 1] * elementBytes % 64 == 0)
                        .isTrue();
                least = Math.min(least, elements);
                most = Math.max(most, elements);
            }
            assertThat(most - least).isLessThan(2 * 64L / elementBytes);
        }
    }
}
