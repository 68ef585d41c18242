package dev.banyan.trees.ring;

import dev.banyan.trees.network.Detours;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.ring.RingSet.Ring;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.jspecify.annotations.Nullable;

/**
 * Looks for rings of equal shares that load the busiest link least. It begins with the rings of a packing, each as
 * often as its share asks for. Then it takes one ring out and puts in the one that is cheapest beside the others, or
 * exchanges two hops of a ring, at random. Seeded; it finds no proof that there are no better ones. A cheapest ring
 * takes O(2^n n^2) time over n devices, up to {@value RingFinder#MAX_EXACT_DEVICES} of them, an exchange O(n).
 */
final class EqualRings {
    private static final int EXCHANGES = 6_000;
    private static final int MOST_REPLACEMENTS = 200;
    /** The steps of all searches for a cheapest ring together. */
    private static final double STEPS = 1e8;
    /** A set is good enough if it is slower than the packing by this share. */
    private static final double NEGLIGIBLE = 0.005;

    private final Network network;
    private final int n;
    private final int[][] paths;
    private final double[] timePerRing;

    EqualRings(Network network) {
        this.network = network;
        n = network.ranks();
        Detours detours = new Detours(network);
        paths = new int[n * n][];
        for (int pair = 0; pair < paths.length; pair++) {
            List<Integer> nodes = Objects.requireNonNullElse(detours.path(pair / n, pair % n), List.of(pair / n));
            int[] path = new int[nodes.size() - 1];
            Arrays.setAll(path, hop -> network.arc(nodes.get(hop), nodes.get(hop + 1)));
            paths[pair] = path;
        }
        timePerRing = new double[network.arcs()];
        Arrays.setAll(timePerRing, arc -> 1 / network.gbs(arc));
    }

    /**
     * Finds the fewest rings that are good enough, or else the best.
     *
     * @param most most rings, at least 1
     */
    RingSet find(RingSet packed, int most) {
        RingSet best = null;
        List<Integer> hopeless = new ArrayList<>();
        for (int count = 1; count <= most; count++) {
            if (!couldBeGoodEnough(count, enough(packed, count))) {
                hopeless.add(count);
                continue;
            }
            Attempt attempt = new Attempt(packed.rings(), count, enough(packed, count));
            best = faster(best, attempt.find());
            if (attempt.isGoodEnough()) {
                return best;
            }
        }
        for (int count : hopeless) {
            best = faster(best, new Attempt(packed.rings(), count, enough(packed, count)).find());
        }
        return Objects.requireNonNull(best);
    }

    /** Returns the time of the busiest link that is good enough, for one unit of data around each ring. */
    private double enough(RingSet packed, int count) {
        return n * count / (packed.rateGbs().doubleValue() * (n - 1)) * (1 + NEGLIGIBLE);
    }

    /** Returns whether all links together have time for the hops of all rings, which no link carries in part. */
    private boolean couldBeGoodEnough(int count, double enough) {
        return Arrays.stream(timePerRing)
                        .map(time -> Math.floor(enough / time * (1 + 1e-9)))
                        .sum()
                >= 2.0 * n * count;
    }

    /** Returns the faster set, or the one of fewer rings. */
    private static RingSet faster(@Nullable RingSet best, RingSet other) {
        if (best == null) {
            return other;
        }
        int faster = other.rateGbs().compareTo(best.rateGbs());
        return faster > 0 || (faster == 0 && other.rings().size() < best.rings().size()) ? other : best;
    }

    /** One number of rings. */
    private final class Attempt {
        private final double enough;
        private final Random random;
        private final int[][] rings;
        private double[] times;
        private int[][] best;
        private double least;

        Attempt(List<Ring> packed, int count, double enough) {
            this.enough = enough;
            random = new Random(count);
            rings = rounded(packed, count);
            times = new double[timePerRing.length];
            for (int[] ring : rings) {
                add(times, ring, 1);
            }
            best = rings.clone();
            least = busiest();
        }

        /** Returns the best rings that were found. */
        RingSet find() {
            replaceRings();
            exchangeHops();
            BigFraction share = BigFraction.of(1, best.length);
            return RingSet.of(
                    network,
                    Arrays.stream(best)
                            .map(ring -> new Ring(Arrays.stream(ring).boxed().toList(), share))
                            .toList());
        }

        boolean isGoodEnough() {
            return least <= enough;
        }

        private void replaceRings() {
            if (n <= 3 || n > RingFinder.MAX_EXACT_DEVICES) {
                return;
            }
            CheapestRing cheapest = new CheapestRing(n);
            double steps = Math.pow(2, n) * n * n;
            for (int left = (int) Math.min(MOST_REPLACEMENTS, STEPS / steps); left > 0 && !isGoodEnough(); left--) {
                int index = random.nextInt(rings.length);
                add(times, rings[index], -1);
                rings[index] = cheapest.at(prices());
                add(times, rings[index], 1);
                keepIfBest();
            }
        }

        private void exchangeHops() {
            for (int left = n <= 3 ? 0 : EXCHANGES; left > 0 && !isGoodEnough(); left--) {
                int index = random.nextInt(rings.length);
                int first = random.nextInt(n);
                int[] turned = turned(rings[index], first, (first + 1 + random.nextInt(n - 3)) % n);
                if (hasPaths(turned)) {
                    double[] before = times.clone();
                    add(times, rings[index], -1);
                    add(times, turned, 1);
                    if (cost(times) <= cost(before)) {
                        rings[index] = turned;
                        keepIfBest();
                    } else {
                        times = before;
                    }
                }
            }
        }

        private void keepIfBest() {
            if (busiest() < least) {
                least = busiest();
                best = rings.clone();
            }
        }

        private double busiest() {
            return Arrays.stream(times).max().orElse(0);
        }

        /** Returns what one more ring would add to the cost by each pair of devices, and a little noise. */
        private double[] prices() {
            double[] prices = new double[n * n];
            for (int a = 0; a < n; a++) {
                for (int b = 0; b < a; b++) {
                    double price = paths[a * n + b].length == 0 || paths[b * n + a].length == 0
                            ? Double.POSITIVE_INFINITY
                            : (price(paths[a * n + b]) + price(paths[b * n + a])) * (1 + 0.1 * random.nextDouble());
                    prices[a * n + b] = price;
                    prices[b * n + a] = price;
                }
            }
            return prices;
        }

        private double price(int[] path) {
            return Arrays.stream(path)
                    .mapToDouble(arc -> power((times[arc] + timePerRing[arc]) / enough) - power(times[arc] / enough))
                    .sum();
        }

        /** Returns a sum in which the busiest links count most, and the others still count. */
        private double cost(double[] all) {
            return Arrays.stream(all).map(time -> power(time / enough)).sum();
        }
    }

    private static double power(double ratio) {
        double squared = ratio * ratio;
        return squared * squared * squared * squared;
    }

    /** Gives each next place to the packed ring that lacks most of its share. */
    private static int[][] rounded(List<Ring> packed, int count) {
        List<int[]> rings = new ArrayList<>();
        double[] missing = packed.stream()
                .mapToDouble(ring -> ring.share().doubleValue() * count)
                .toArray();
        while (rings.size() < count) {
            int most = 0;
            for (int ring = 1; ring < missing.length; ring++) {
                most = missing[ring] > missing[most] ? ring : most;
            }
            missing[most]--;
            rings.add(packed.get(most).order().stream()
                    .mapToInt(Integer::intValue)
                    .toArray());
        }
        return rings.toArray(int[][]::new);
    }

    /** Returns the ring with the devices from one place to another in the opposite order, around the end if need be. */
    private int[] turned(int[] ring, int first, int last) {
        int[] turned = ring.clone();
        int length = (last - first + n) % n + 1;
        for (int i = 0; i < length; i++) {
            turned[(first + i) % n] = ring[(last - i + n) % n];
        }
        return turned;
    }

    private boolean hasPaths(int[] ring) {
        return IntStream.range(0, n)
                .allMatch(i -> paths[ring[i] * n + ring[(i + 1) % n]].length > 0
                        && paths[ring[(i + 1) % n] * n + ring[i]].length > 0);
    }

    private void add(double[] times, int[] ring, int rings) {
        for (int i = 0; i < n; i++) {
            int a = ring[i];
            int b = ring[(i + 1) % n];
            for (int arc : paths[a * n + b]) {
                times[arc] += rings * timePerRing[arc];
            }
            for (int arc : paths[b * n + a]) {
                times[arc] += rings * timePerRing[arc];
            }
        }
    }
}
