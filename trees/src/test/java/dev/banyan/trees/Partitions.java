package dev.banyan.trees;

import dev.banyan.trees.network.Network;
import java.util.Arrays;
import java.util.function.Consumer;
import org.apache.commons.numbers.fraction.BigFraction;

/** All partitions of a few ranks, one by one: the slow and plain way to find the weakest. */
public final class Partitions {
    private Partitions() {}

    /**
     * Hands out each partition of 0..n-1 as the part of each rank; parts are counted from 0 in order of their
     * first rank.
     */
    public static void forEach(int n, Consumer<int[]> consumer) {
        extend(new int[n], 1, 1, consumer);
    }

    private static void extend(int[] part, int rank, int parts, Consumer<int[]> consumer) {
        if (rank == part.length) {
            consumer.accept(part);
            return;
        }
        for (int p = 0; p <= parts; p++) {
            part[rank] = p;
            extend(part, rank + 1, Math.max(parts, p + 1), consumer);
        }
    }

    /** Capacity of all arcs between different parts that go from a lower rank to a higher, in units. */
    public static long crossing(Network network, int[] part) {
        long sum = 0;
        for (int arc = 0; arc < network.arcs(); arc++) {
            if (network.from(arc) < network.to(arc) && part[network.from(arc)] != part[network.to(arc)]) {
                sum += network.capacity(arc);
            }
        }
        return sum;
    }

    public static int count(int[] part) {
        return Arrays.stream(part).max().orElseThrow() + 1;
    }

    /** The least w(P) / (|P| - 1), in GB/s. */
    public static BigFraction tauGbs(Network network) {
        long[] best = {0, 0};
        forEach(network.ranks(), part -> {
            int joints = count(part) - 1;
            if (joints > 0) {
                long crossing = crossing(network, part);
                if (best[1] == 0 || crossing * best[1] < best[0] * joints) {
                    best[0] = crossing;
                    best[1] = joints;
                }
            }
        });
        return BigFraction.of(best[0], best[1]).multiply(network.unitGbs());
    }
}
