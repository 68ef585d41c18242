package dev.banyan.trees.bound;

import dev.banyan.trees.network.Network;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Bounds the rate of an allreduce where switches copy and reduce (NVLink SHARP): the lesser of two limits. Through one
 * switch with b GB/s for each of n ranks it is b n / (n + 1) for n > 2, while {@link AllReduceBound}'s is b n / (2(n -
 * 1)).
 *
 * <p>The first limit is the least bandwidth out of any set of nodes that holds some ranks and not others: whatever the
 * switches compute, the sum depends on every byte of each rank, so the set's contribution, at least one array, must
 * leave it; and some rank outside needs the result of it.
 *
 * <p>The second limit counts the bytes on the links of the ranks, out and in. A switch combines or copies only for a
 * rank of the group whose memory it reads or writes (CUDA opens a multicast object to no other device, and relays only
 * forward), so that the rank's own array crosses its link, too. With a group of k ranks that takes k + 1 of these bytes
 * and does what k - 1 transfers between two ranks would, each of which takes 2. An allreduce needs 2(n - 1) transfers
 * for each byte of the sum ({@link AllReduceBound}), and so at least 2 min(2(n - 1), n + 1) of these bytes.
 *
 * <p>The other collectives gain nothing, since {@link RootBound} and {@link GatherBound} are about such sets already.
 * The bound takes every hub for one that reduces, so that it holds, but it need not be reached where only some do. Two
 * flows for each rank. Its certificate is the set, or the price of each link.
 */
public final class SwitchReductionBound {
    private SwitchReductionBound() {}

    /** The bound of an allreduce; empty where no switch of the network reduces. */
    public static Optional<Bound> of(Network network) {
        if (!network.switchesReduce()) {
            return Optional.empty();
        }
        Bound outward = RootBound.broadcast(network, 0);
        Bound inward = RootBound.reduce(network, 0);
        Bound cut = inward.gbs().compareTo(outward.gbs()) < 0 ? inward : outward;
        Bound links = ofAllLinks(network);
        return Optional.of(links.gbs().compareTo(cut.gbs()) < 0 ? links : cut);
    }

    private static Bound ofAllLinks(Network network) {
        int ranks = network.ranks();
        BigFraction price = BigFraction.of(1, 2L * Math.min(2 * (ranks - 1), ranks + 1));
        Map<Integer, BigFraction> prices = new TreeMap<>();
        BigFraction whole = BigFraction.ZERO;
        for (int arc = 0; arc < network.arcs(); arc++) {
            int ends = (network.from(arc) < ranks ? 1 : 0) + (network.to(arc) < ranks ? 1 : 0);
            if (ends > 0) {
                prices.put(arc, price.multiply(ends));
                whole = whole.add(price.multiply(ends).multiply(network.capacity(arc)));
            }
        }
        return new Bound(network.unitGbs().multiply(whole), new Certificate.Prices(prices));
    }
}
