package dev.banyan.trees.packing.allreduce;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.topology.Machine;
import dev.banyan.topology.format.MachineReader;
import dev.banyan.topology.option.MatrixUnit;
import dev.banyan.trees.Partitions;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.TreePacking;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** In a matrix of GB/s every link counts, in the bound and in the trees, however slow it is. */
class BandwidthMatrixTest {
    private static TreePacking packing(String matrix) {
        Machine machine = new MachineReader(MatrixUnit.GBS).parse("matrix", matrix);
        Network network = Network.of(machine);
        assertThat(network.leavesOutLinks()).isFalse();
        assertThat(machine.assumed()).isEmpty();
        return AllReducePacking.of(network);
    }

    @Test
    void slowLinksBesideFastOnesCount() {
        assertThat(packing("0 50 12\n50 0 50\n12 50 0\n").rateGbs()).isEqualTo(BigFraction.of(56));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2})
    void packingsReachTheBoundOfAllLinksExactly(long seed) {
        Random random = new Random(seed);
        for (int i = 0; i < 50; i++) {
            int n = 3 + random.nextInt(6);
            long[][] hundredths = new long[n][n];
            for (int a = 0; a < n; a++) {
                for (int b = 0; b < a; b++) {
                    boolean linked = b == a - 1 || random.nextInt(5) > 0;
                    hundredths[a][b] = linked ? hundredths(random, seed == 1) : 0;
                    hundredths[b][a] = hundredths[a][b];
                }
            }
            TreePacking packing = packing(text(hundredths));
            Network network = packing.network();
            assertThat(packing.bound().gbs()).isEqualTo(tau(hundredths));
            assertThat(packing.rateGbs()).isEqualTo(packing.bound().gbs());
            assertThat(Partitions.tauGbs(network)).isEqualTo(packing.bound().gbs());
        }
    }

    /** From 5 to 100 GB/s. */
    private static long hundredths(Random random, boolean whole) {
        return whole ? 100L * (5 + random.nextInt(96)) : 500 + random.nextInt(9501);
    }

    private static String text(long[][] hundredths) {
        StringBuilder text = new StringBuilder();
        for (long[] row : hundredths) {
            for (long entry : row) {
                text.append(entry / 100)
                        .append('.')
                        .append(entry / 10 % 10)
                        .append(entry % 10)
                        .append(' ');
            }
            text.append('\n');
        }
        return text.toString();
    }

    /** The least, over all partitions, of what crosses over the number of parts less one; of the matrix itself. */
    private static BigFraction tau(long[][] hundredths) {
        return least(hundredths, new int[hundredths.length], 1, 1);
    }

    private static BigFraction least(long[][] hundredths, int[] part, int next, int parts) {
        if (next == part.length) {
            if (parts == 1) {
                return BigFraction.of(Long.MAX_VALUE);
            }
            long crossing = IntStream.range(0, part.length)
                    .mapToLong(a -> IntStream.range(0, a)
                            .filter(b -> part[a] != part[b])
                            .mapToLong(b -> hundredths[a][b])
                            .sum())
                    .sum();
            return BigFraction.of(crossing, 100L * (parts - 1));
        }
        BigFraction least = BigFraction.of(Long.MAX_VALUE);
        for (int p = 0; p <= parts; p++) {
            part[next] = p;
            BigFraction found = least(hundredths, part, next + 1, Math.max(parts, p + 1));
            least = found.compareTo(least) < 0 ? found : least;
        }
        return least;
    }
}
