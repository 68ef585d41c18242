package dev.banyan.study.machine;

import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.PackedAlgorithm;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.internal.program.DirectExchange;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.text.Numbers;
import dev.banyan.trees.bound.AllReduceBound;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LinkLoads;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * The rate of an allreduce that kernels let a switch add up and copy, in arrays of {@code Communicator.allocateAll}:
 * that at which the busiest link is full, latencies apart. {@code auto} takes packing for long arrays.
 *
 * @param name of the algorithm
 * @param gbs algbw in GB/s
 * @param limit what no allreduce exceeds where switches reduce
 */
public record SwitchRate(String name, BigFraction gbs, Limit limit) {
    /** The name of packing in rows and lines. */
    public static final String PACKING = "packing in the switch";

    private static final String STAR = "star in the switch";

    /** Elements of each rank: so many that shares are as the links are. */
    private static final long ELEMENTS = 1 << 20;

    /**
     * Returns the rate of packing; empty unless one switch that reduces joins three to fifteen devices, which have peer
     * access, and carries more so.
     *
     * @param network of the devices
     * @param forwarding the bound of an allreduce with switches that only forward
     */
    public static Optional<SwitchRate> ofPacking(Network network, Bound forwarding) {
        return of(network, forwarding, PACKING, new PackedAlgorithm(network)::schedule);
    }

    /** Returns the rate of a star around rank 0, where {@link #ofPacking} returns one. */
    public static Optional<SwitchRate> ofStar(Network network, Bound forwarding) {
        return of(network, forwarding, STAR, new StarAlgorithm(network.ranks())::schedule);
    }

    private static Optional<SwitchRate> of(
            Network network, Bound forwarding, String name, Function<CollectiveRequest, Schedule> algorithm) {
        int ranks = network.ranks();
        boolean isJoined = network.switchesReduce()
                && AllReduceBound.isOneSwitch(network)
                && DirectExchange.takesSwitch(ranks)
                && IntStream.range(0, ranks * ranks)
                        .allMatch(pair -> network.grantsPeerAccess(pair / ranks, pair % ranks));
        return isJoined
                ? Limit.reduced(network, Collective.ALL_REDUCE, forwarding).stream()
                        .findFirst()
                        .map(limit ->
                                new SwitchRate(name, loads(network, algorithm).rateGbs(), limit))
                : Optional.empty();
    }

    private static LinkLoads loads(Network network, Function<CollectiveRequest, Schedule> algorithm) {
        int ranks = network.ranks();
        long count = ranks * ELEMENTS;
        DirectExchange exchange = DirectExchange.of(algorithm.apply(
                        new CollectiveRequest(Collective.ALL_REDUCE, -1, count, 1, false, Long.MAX_VALUE)))
                .orElseThrow();
        LinkLoads loads = new LinkLoads(network);
        for (DirectExchange.Share share : exchange.shares()) {
            BigFraction part = BigFraction.of(share.bytes(), count);
            if (!exchange.loadsFromAll(share) || !exchange.storesToAll(share)) {
                throw new IllegalStateException("no share of all ranks: " + share);
            }
            for (int rank = 0; rank < ranks; rank++) {
                loads.addHop(part, rank, ranks);
                loads.addHop(part, ranks, rank);
            }
            loads.addHop(part, ranks, share.rank());
            loads.addHop(part, share.rank(), ranks);
        }
        return loads;
    }

    /** Returns the share of the limit. */
    public double ratio() {
        return gbs.doubleValue() / limit.algbwGBs();
    }

    /** One line for people. */
    public String sentence() {
        return name + " (no GPU has run these kernels yet; they copy buffers that are not of Communicator.allocateAll"
                + " through a staging buffer): " + Numbers.gbs(gbs) + ", " + Numbers.format("%.3f", ratio())
                + " of the bound (" + limit.counted() + ")";
    }
}
