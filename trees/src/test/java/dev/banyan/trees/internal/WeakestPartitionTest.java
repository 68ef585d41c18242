package dev.banyan.trees.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.trees.Networks;
import dev.banyan.trees.Partitions;
import dev.banyan.trees.network.Network;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class WeakestPartitionTest {
    /** Any weight, also far below and above what the links can carry, and links of no capacity. */
    @Test
    void findsTheLeastOfAllPartitions() {
        Random random = new Random(1);
        for (int i = 0; i < 800; i++) {
            Network network = Network.of(Networks.random(random, 2 + random.nextInt(6), 6));
            DuplexLinks links = DuplexLinks.of(network);
            WeakestPartition weakest = new WeakestPartition(links);
            for (int run = 0; run < 3; run++) {
                long[] capacity = new long[links.links()];
                Arrays.setAll(capacity, link -> random.nextInt(20));
                long t = random.nextInt(60);
                long[] least = {0};
                Partitions.forEach(network.ranks(), part -> {
                    least[0] = Math.min(least[0], value(links, capacity, t, part));
                });
                assertThat(weakest.find(capacity, t)).isEqualTo(least[0]);
                int[] part =
                        IntStream.range(0, network.ranks()).map(weakest::part).toArray();
                assertThat(value(links, capacity, t, part)).isEqualTo(least[0]);
                assertThat(IntStream.of(part)).allMatch(first -> part[first] == first);
            }
        }
    }

    private static long value(DuplexLinks links, long[] capacity, long t, int[] part) {
        long value = -t * (Arrays.stream(part).distinct().count() - 1);
        for (int link = 0; link < capacity.length; link++) {
            if (part[links.rankAt(2 * link)] != part[links.rankAt(2 * link + 1)]) {
                value += capacity[link];
            }
        }
        return value;
    }
}
