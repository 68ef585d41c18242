package dev.banyan.trees.ring;

import dev.banyan.topology.LinkMatrix;

/** A good ring by nearest neighbours and exchanges of two links. */
final class ExchangedRing {
    private static final int MAX_STARTS = 32;
    /** Bandwidths tried as that of the slowest link, the greatest first, before every link is allowed. */
    private static final int MAX_STEPS = 16;

    private final int n;

    ExchangedRing(int n) {
        this.n = n;
    }

    int[] best(LinkMatrix matrix, double[] gbs) {
        double[] steps = RingFinder.distinct(gbs);
        for (int i = steps.length - 1; i > 0 && i >= steps.length - MAX_STEPS; i--) {
            int[] ring = search(RingFinder.values(matrix, gbs, steps[i]));
            if (slowest(ring, gbs) >= steps[i]) {
                return ring;
            }
        }
        return search(RingFinder.values(matrix, gbs, steps.length == 0 ? Double.POSITIVE_INFINITY : steps[0]));
    }

    private double slowest(int[] ring, double[] gbs) {
        double slowest = Double.POSITIVE_INFINITY;
        for (int i = 0; i < n; i++) {
            slowest = Math.min(slowest, gbs[ring[i] * n + ring[(i + 1) % n]]);
        }
        return slowest;
    }

    private int[] search(long[] values) {
        int[] best = new int[0];
        long bestValue = -1;
        for (int start = 0; start < Math.min(n, MAX_STARTS); start++) {
            int[] ring = nearestNeighbours(values, start);
            exchange(values, ring);
            long value = 0;
            for (int i = 0; i < n; i++) {
                value += values[ring[i] * n + ring[(i + 1) % n]];
            }
            if (value > bestValue) {
                best = ring;
                bestValue = value;
            }
        }
        return best;
    }

    private int[] nearestNeighbours(long[] values, int start) {
        int[] ring = new int[n];
        boolean[] placed = new boolean[n];
        ring[0] = start;
        placed[start] = true;
        for (int i = 1; i < n; i++) {
            int nearest = -1;
            for (int v = 0; v < n; v++) {
                if (!placed[v] && (nearest < 0 || values[ring[i - 1] * n + v] > values[ring[i - 1] * n + nearest])) {
                    nearest = v;
                }
            }
            ring[i] = nearest;
            placed[nearest] = true;
        }
        return ring;
    }

    /** Turns stretches of the ring round while that gains; values are whole numbers, so it ends. */
    private void exchange(long[] values, int[] ring) {
        boolean gained = true;
        while (gained) {
            gained = false;
            for (int i = 0; i < n - 2; i++) {
                for (int j = i + 2; j < n; j++) {
                    int a = ring[i];
                    int b = ring[i + 1];
                    int c = ring[j];
                    int d = ring[(j + 1) % n];
                    if (a != d && values[a * n + c] + values[b * n + d] > values[a * n + b] + values[c * n + d]) {
                        for (int from = i + 1, to = j; from < to; from++, to--) {
                            int device = ring[from];
                            ring[from] = ring[to];
                            ring[to] = device;
                        }
                        gained = true;
                    }
                }
            }
        }
    }
}
