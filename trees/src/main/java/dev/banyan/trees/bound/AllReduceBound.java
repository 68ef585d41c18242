package dev.banyan.trees.bound;

import dev.banyan.trees.internal.DuplexLinks;
import dev.banyan.trees.internal.WeakestPartition;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * The greatest rate of an allreduce.
 *
 * <p><b>Direct links</b>, equally wide both ways: tau, the least of w(P) / (|P| - 1) over all partitions P of
 * the ranks into at least two parts, w(P) being the one-way bandwidth of all links between the parts. It is
 * exact, with the partition as its certificate. Nothing can be faster: merge each part into one device, and
 * an allreduce of k devices must move at least 2(k - 1) times the data between them, of at most 2 w(P) both
 * ways together. Trees reach it: tau is also how many spanning trees the links carry at once, as fractions
 * (C. St. J. A. Nash-Williams, J. London Math. Soc. 36, 1961, doi:10.1112/jlms/s1-36.1.445; W. T. Tutte, the
 * same volume, doi:10.1112/jlms/s1-36.1.221), and a tree carries the reduction up and the broadcast down the
 * same links. Found by Newton's method (Dinkelbach) on t, from the better of two plain kinds of partition on:
 * few rounds, each one {@link WeakestPartition}.
 *
 * <p><b>One switch</b> between n ranks with bandwidths b, equal both ways: the lesser of sum(b) / (2(n - 1))
 * and the least b, with prices as certificate.
 */
public final class AllReduceBound {
    private AllReduceBound() {}

    /**
     * The bound of a network of direct links or of one switch.
     *
     * @throws IllegalArgumentException if it is neither, or has links wider one way than the other
     */
    public static Bound of(Network network) {
        return isOneSwitch(network) ? ofOneSwitch(network) : ofLinks(network);
    }

    /** Returns whether a network is of direct links or of one switch, and its links are equally wide both ways. */
    public static boolean applies(Network network) {
        return (network.direct() && network.symmetric()) || isOneSwitch(network);
    }

    /** Returns whether all links join a rank to the one forwarder, equally wide both ways. */
    public static boolean isOneSwitch(Network network) {
        int hub = network.ranks();
        return network.symmetric()
                && network.nodes() == hub + 1
                && IntStream.range(0, network.arcs())
                        .allMatch(arc -> network.from(arc) == hub || network.to(arc) == hub);
    }

    private static Bound ofOneSwitch(Network network) {
        int ranks = network.ranks();
        int narrowest = 0;
        long sum = 0;
        for (int arc = 0; arc < ranks; arc++) {
            // The first arcs are those from the ranks, one each.
            sum += network.capacity(arc);
            narrowest = network.capacity(arc) < network.capacity(narrowest) ? arc : narrowest;
        }
        BigFraction average = BigFraction.of(sum, 2L * (ranks - 1));
        BigFraction least = BigFraction.of(network.capacity(narrowest));
        if (least.compareTo(average) < 0) {
            // The contribution of this rank must leave it.
            return bound(network, least, new Certificate.Prices(Map.of(narrowest, BigFraction.ONE)));
        }
        // 2(n - 1) transfers, of two hops each.
        BigFraction price = BigFraction.of(1, 4L * (ranks - 1));
        Map<Integer, BigFraction> prices = new HashMap<>();
        for (int arc = 0; arc < network.arcs(); arc++) {
            prices.put(arc, price);
        }
        return bound(network, average, new Certificate.Prices(prices));
    }

    private static Bound bound(Network network, BigFraction units, Certificate certificate) {
        return new Bound(network.unitGbs().multiply(units), certificate);
    }

    private static Bound ofLinks(Network network) {
        DuplexLinks links = DuplexLinks.of(network);
        WeakestPartition weakest = new WeakestPartition(links);
        long[] scaled = new long[links.links()];
        Cut best = start(links);
        while (true) {
            long whole = best.ratio.getNumeratorAsLong();
            long scale = best.ratio.getDenominatorAsLong();
            for (int link = 0; link < scaled.length; link++) {
                scaled[link] = Math.multiplyExact(links.capacity(link), scale);
            }
            if (weakest.find(scaled, whole) == 0) {
                return bound(network, best.ratio, new Certificate.Partition(best.parts()));
            }
            int[] part = new int[links.nodes()];
            for (int rank = 0; rank < part.length; rank++) {
                part[rank] = weakest.part(rank);
            }
            best = new Cut(links, part);
        }
    }

    /** The better of two partitions: every rank a part of its own, or the weakest rank against all others. */
    private static Cut start(DuplexLinks links) {
        int ranks = links.nodes();
        int weakest = 0;
        long[] around = new long[ranks];
        for (int link = 0; link < links.links(); link++) {
            around[links.rankAt(2 * link)] += links.capacity(link);
            around[links.rankAt(2 * link + 1)] += links.capacity(link);
        }
        for (int rank = 1; rank < ranks; rank++) {
            weakest = around[rank] < around[weakest] ? rank : weakest;
        }
        int[] own = new int[ranks];
        for (int rank = 0; rank < ranks; rank++) {
            own[rank] = rank;
        }
        Cut apart = new Cut(links, own);
        int[] part = new int[ranks];
        part[weakest] = 1;
        Cut one = new Cut(links, part);
        return one.ratio.compareTo(apart.ratio) < 0 ? one : apart;
    }

    /** A partition P and w(P) / (|P| - 1). */
    private static final class Cut {
        private final int[] part;
        private final BigFraction ratio;

        Cut(DuplexLinks links, int[] part) {
            this.part = part;
            long crossing = 0;
            for (int link = 0; link < links.links(); link++) {
                if (part[links.rankAt(2 * link)] != part[links.rankAt(2 * link + 1)]) {
                    crossing += links.capacity(link);
                }
            }
            ratio = BigFraction.of(crossing, parts().size() - 1L);
        }

        List<List<Integer>> parts() {
            Map<Integer, List<Integer>> byPart = new LinkedHashMap<>();
            for (int rank = 0; rank < part.length; rank++) {
                List<Integer> members = byPart.get(part[rank]);
                if (members == null) {
                    members = new ArrayList<>();
                    byPart.put(part[rank], members);
                }
                members.add(rank);
            }
            return List.copyOf(byPart.values());
        }
    }
}
