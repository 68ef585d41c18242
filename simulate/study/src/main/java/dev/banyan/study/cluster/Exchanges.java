package dev.banyan.study.cluster;

import java.util.stream.IntStream;

/**
 * The pairwise exchanges of algorithms that double distances: p machines take part, the greatest power of two of all m.
 * Of the first 2(m - p) machines, each even one leaves its data with the next one and gets the result from it.
 */
final class Exchanges {
    private final int machines;
    private final int partners;
    private final double[] gbs;
    private final double spareGbs;

    Exchanges(int machines, Fabric fabric) {
        this.machines = machines;
        partners = Integer.highestOneBit(machines);
        gbs = IntStream.range(0, steps())
                .mapToDouble(step -> fabric.leastGbs(peers(1 << step)))
                .toArray();
        spareGbs = fabric.leastGbs(IntStream.range(0, machines)
                .map(machine -> machine < 2 * spare() ? machine ^ 1 : machine)
                .toArray());
    }

    private int[] peers(int distance) {
        int[] peers = IntStream.range(0, machines).toArray();
        for (int partner = 0; partner < partners; partner++) {
            peers[place(partner)] = place(partner ^ distance);
        }
        return peers;
    }

    private int place(int partner) {
        return partner < spare() ? 2 * partner + 1 : partner + spare();
    }

    /** Number of machines beyond the power of two. */
    int spare() {
        return machines - partners;
    }

    /** Number of exchanges, of distances 1, 2, 4 and so on. */
    int steps() {
        return Integer.numberOfTrailingZeros(partners);
    }

    /** Time on the links of one exchange. */
    double transferUs(int step, double bytes) {
        return bytes / (gbs[step] * 1e3);
    }

    /** The same between a machine that leaves and the one that takes part for it. */
    double spareTransferUs(double bytes) {
        return bytes / (spareGbs * 1e3);
    }
}
