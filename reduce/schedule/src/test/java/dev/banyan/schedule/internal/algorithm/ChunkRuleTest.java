package dev.banyan.schedule.internal.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.topology.Machine;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.Direction;
import dev.banyan.trees.packing.ForestCost;
import dev.banyan.trees.packing.PackedTree;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ChunkRuleTest {
    /** One tree of depth 2 over links of 25 GB/s. */
    private static ForestCost cost(Direction direction) {
        Network network = Network.of(Machine.preset("p3.16xlarge").subset(0, 1, 2, 3));
        return ForestCost.of(
                network, PackedTree.of(new Forest(List.of(Tree.ofParents(-1, 0, 0, 1)), List.of(1.0))), direction);
    }

    @Test
    void byHand() {
        // 25 MB take 1000 us. Three stages but the first, 10 us per chunk: sqrt(3 * 1000 / 10) = 17.3 chunks.
        assertThat(ChunkRule.chunkBytes(cost(Direction.UP_AND_DOWN), 25_000_000, 10))
                .isBetween(25_000_000 / 17L, 25_000_000 / 17L + 64);
        // One: sqrt(100) chunks.
        assertThat(ChunkRule.chunkBytes(cost(Direction.UP), 25_000_000, 10)).isBetween(2_500_000L, 2_500_064L);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 4096, 100_000, 1 << 20, 1 << 30, 1L << 36})
    void chunksAreAlignedAndBounded(long bytes) {
        ForestCost cost = cost(Direction.UP_AND_DOWN);
        for (double overhead : new double[] {1e-9, 0.5, 10, 1e9}) {
            long length = ChunkRule.chunkBytes(cost, bytes, overhead);
            assertThat(length % 64).isZero();
            assertThat(length).isBetween(4L << 10, 64L << 20);
        }
    }

    /** The rule finds the minimum of its cost, to within the rounding to whole chunks. */
    @Test
    void noOtherNumberOfChunksIsBetter() {
        ForestCost cost = cost(Direction.UP_AND_DOWN);
        long bytes = 1 << 28;
        double overhead = 2;
        long best = Math.ceilDiv(bytes, ChunkRule.chunkBytes(cost, bytes, overhead));
        double least = cost.predictedUs(bytes, best) + overhead * best;
        for (long chunks = 1; chunks < 1000; chunks++) {
            assertThat(cost.predictedUs(bytes, chunks) + overhead * chunks).isGreaterThan(least * (1 - 1e-4));
        }
    }

    @Test
    void impossibleCostsAreRefused() {
        ForestCost cost = cost(Direction.DOWN);
        for (double overhead : new double[] {0, -1, Double.NaN}) {
            assertThatThrownBy(() -> ChunkRule.chunkBytes(cost, 1, overhead))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("chunks for 1 bytes that cost " + overhead
                            + " us each; there must be at least 0 bytes and a cost above 0");
        }
    }
}
