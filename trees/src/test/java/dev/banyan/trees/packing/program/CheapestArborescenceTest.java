package dev.banyan.trees.packing.program;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;

class CheapestArborescenceTest {
    @Test
    void isAsCheapAsTheBestOfAll() {
        Random random = new Random(11);
        for (int i = 0; i < 300; i++) {
            int n = 2 + random.nextInt(4);
            long[][] cost = new long[n][n];
            for (int a = 0; a < n; a++) {
                for (int b = 0; b < n; b++) {
                    // The root reaches all, so that there is always one.
                    boolean none = a != 0 && random.nextInt(4) == 0;
                    cost[a][b] = none ? PricedPaths.NONE : random.nextInt(12) + (a == 0 ? 10 : 0);
                }
            }
            int[] parent = CheapestArborescence.from(0, cost);
            assertThat(parent[0]).isEqualTo(-1);
            parent[0] = 0;
            assertThat(cost(parent, cost)).isEqualTo(least(new int[n], 1, cost));
        }
    }

    private static long least(int[] parent, int node, long[][] cost) {
        if (node == parent.length) {
            return cost(parent, cost);
        }
        long least = Long.MAX_VALUE;
        for (parent[node] = 0; parent[node] < parent.length; parent[node]++) {
            least = Math.min(least, least(parent, node + 1, cost));
        }
        return least;
    }

    private static long cost(int[] parent, long[][] cost) {
        long sum = 0;
        for (int node = 1; node < parent.length; node++) {
            int above = node;
            for (int step = 0; step < parent.length; step++) {
                above = parent[above];
            }
            if (above != 0 || cost[parent[node]][node] == PricedPaths.NONE) {
                return Long.MAX_VALUE;
            }
            sum += cost[parent[node]][node];
        }
        return sum;
    }
}
