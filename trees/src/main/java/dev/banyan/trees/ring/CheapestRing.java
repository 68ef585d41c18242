package dev.banyan.trees.ring;

/** The ring of least price by Held and Karp's dynamic programme; the last device is where rings start. */
final class CheapestRing {
    private final int n;
    private final int start;
    private final double[] least;
    private double price;

    /** @param n number of devices, 4..{@link RingFinder#MAX_EXACT_DEVICES} */
    CheapestRing(int n) {
        this.n = n;
        start = n - 1;
        least = new double[(1 << start) * start];
    }

    /**
     * The cheapest ring.
     *
     * @param prices of each pair, row-major and symmetric; infinite where a ring may not go
     * @return devices in the order of the ring
     */
    int[] at(double[] prices) {
        int sets = 1 << start;
        for (int set = 1; set < sets; set++) {
            for (int rest = set; rest != 0; rest &= rest - 1) {
                int last = Integer.numberOfTrailingZeros(rest);
                int before = set ^ 1 << last;
                double sum = before == 0 ? prices[start * n + last] : Double.POSITIVE_INFINITY;
                int row = before * start;
                for (int ends = before; ends != 0; ends &= ends - 1) {
                    int end = Integer.numberOfTrailingZeros(ends);
                    double through = least[row + end] + prices[end * n + last];
                    sum = through < sum ? through : sum;
                }
                least[set * start + last] = sum;
            }
        }
        int[] ring = new int[n];
        ring[0] = start;
        int set = sets - 1;
        int next = start;
        for (int at = n - 1; at > 0; at--) {
            int last = cheapestEnd(prices, set, next);
            if (at == n - 1) {
                price = least[set * start + last] + prices[last * n + start];
            }
            ring[at] = last;
            set ^= 1 << last;
            next = last;
        }
        return ring;
    }

    private int cheapestEnd(double[] prices, int set, int next) {
        int cheapest = Integer.numberOfTrailingZeros(set);
        for (int rest = set; rest != 0; rest &= rest - 1) {
            int end = Integer.numberOfTrailingZeros(rest);
            if (least[set * start + end] + prices[end * n + next]
                    < least[set * start + cheapest] + prices[cheapest * n + next]) {
                cheapest = end;
            }
        }
        return cheapest;
    }

    /** Price of the ring found last. */
    double price() {
        return price;
    }
}
