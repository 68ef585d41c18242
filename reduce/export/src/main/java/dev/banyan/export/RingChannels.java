package dev.banyan.export;

import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LinkLoads;
import dev.banyan.trees.ring.RingSet;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Rings as NCCL runs them: channels of equal shares, each one way around. A {@link RingSet} has shares of any size;
 * here a ring has a whole number of channel pairs, one channel each way.
 *
 * @param network the links
 * @param orders ranks in the order of each channel's ring; each ring is followed by the same ring the other way
 * @param planned algbw of an allreduce over the rings with their exact shares, in GB/s
 * @param algbw algbw of an allreduce over the channels, in GB/s, latencies apart
 */
public record RingChannels(Network network, List<List<Integer>> orders, BigFraction planned, BigFraction algbw) {
    /**
     * GB/s up to which a channel, which is a block of threads or two, fills its links: NCCL's search doubles channels
     * from there on ({@code ncclTopoDupChannels} of search.cc), but does not apply this rule to the channels of a file.
     */
    private static final double MOST_CHANNEL_GBS = 25;

    private static final double ROUNDING = 1e-9;

    public RingChannels {
        orders = orders.stream().map(List::copyOf).toList();
    }

    /**
     * Rounds the shares of rings to whole channels: to the fewest channels that lose next to nothing.
     *
     * @param most most channels, at least 1; a single one goes one way around
     */
    public static RingChannels of(RingSet rings, int most) {
        if (most < 1) {
            throw new IllegalArgumentException(most + " channels; a ring needs 1, and 2 for both ways");
        }
        List<List<Integer>> orders = rings.ofEqualShares(Math.max(1, most / 2)).rings().stream()
                .flatMap(ring -> Stream.of(ring.order(), ring.order().reversed()))
                .limit(most)
                .toList();
        return rated(rings.network(), orders, rings.rateGbs());
    }

    /**
     * Repeats each ring as often as its blocks need to fill the links.
     *
     * @param most most channels, at least as many as there are
     */
    public RingChannels filling(int most) {
        if (most < orders.size()) {
            throw new IllegalArgumentException("at most " + most + " channels for " + orders.size() + " rings");
        }
        int times = Math.min(most / orders.size(), (int) Math.ceil(channelGbs() / MOST_CHANNEL_GBS - ROUNDING));
        List<List<Integer>> repeated = Collections.nCopies(times, orders).stream()
                .flatMap(List::stream)
                .toList();
        return rated(network, repeated, planned);
    }

    /**
     * Rates rings that are given, e.g. by a file.
     *
     * @param orders all ranks in the order of each channel's ring
     */
    public static RingChannels rated(Network network, List<List<Integer>> orders) {
        return rated(network, orders, BigFraction.ZERO);
    }

    private static RingChannels rated(Network network, List<List<Integer>> orders, BigFraction planned) {
        LinkLoads loads = new LinkLoads(network);
        int n = network.ranks();
        BigFraction perHop = BigFraction.of(2L * (n - 1), (long) n * orders.size());
        orders.forEach(order -> addHops(loads, perHop, order));
        return new RingChannels(network, orders, planned, loads.rateGbs());
    }

    private static void addHops(LinkLoads loads, BigFraction perHop, List<Integer> order) {
        for (int i = 0; i < order.size(); i++) {
            loads.addTransfer(perHop, order.get(i), order.get((i + 1) % order.size()));
        }
    }

    /** Returns the different rings of the channels, each one way around, from rank 0 on. */
    public Set<List<Integer>> rings() {
        return orders.stream().map(RingChannels::fromFirst).collect(Collectors.toSet());
    }

    /** Returns a ring from rank 0 on. */
    public static List<Integer> fromFirst(List<Integer> ring) {
        List<Integer> turned = new ArrayList<>(ring);
        Collections.rotate(turned, -ring.indexOf(0));
        return turned;
    }

    /** Returns whether all rings are as good as these. */
    public boolean anyOrderIsAsGood() {
        return anyOrderIsAsGood(network);
    }

    /**
     * Returns whether all rings of a network are equally good: no two devices have a link of their own, and all have
     * the same links to the same hubs, as around NVSwitches.
     */
    public static boolean anyOrderIsAsGood(Network network) {
        List<Map<Integer, Long>> links = IntStream.range(0, network.ranks())
                .mapToObj(rank -> IntStream.range(network.firstOut(rank), network.firstOut(rank + 1))
                        .boxed()
                        .collect(Collectors.toMap(network::to, network::capacity)))
                .distinct()
                .toList();
        return links.size() == 1 && links.getFirst().keySet().stream().allMatch(node -> node >= network.ranks());
    }

    /** Returns the share of the rate that is lost to the rounding, from 0 to 1. */
    public double loss() {
        return planned.signum() == 0 ? 0 : Math.max(0, 1 - algbw.divide(planned).doubleValue());
    }

    /** Returns the bandwidth of one channel as NCCL counts it, in GB/s: busbw over the number of channels. */
    public double channelGbs() {
        int n = network.ranks();
        return algbw.doubleValue() * 2 * (n - 1) / n / orders.size();
    }
}
