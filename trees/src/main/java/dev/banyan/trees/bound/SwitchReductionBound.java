package dev.banyan.trees.bound;

import dev.banyan.trees.network.Network;
import java.util.Optional;

/**
 * Bounds the rate of an allreduce where switches copy and reduce (NVLink SHARP): the least bandwidth out of any set of
 * nodes that holds some ranks and not others.
 *
 * <p>Whatever the switches compute, the sum depends on every byte of each rank, so the set's contribution, at least one
 * array, must leave it; and some rank outside needs the result of it. Through one switch with b GB/s per rank that is
 * b, while {@link AllReduceBound}'s is b n / (2(n - 1)): each rank sends its data once and receives the result once.
 * The other collectives gain nothing, since {@link RootBound} and {@link GatherBound} are about such sets already.
 *
 * <p>The bound takes every hub for one that reduces, so that it holds, but it need not be reached where only some do.
 * Two flows for each rank. Its certificate is the set.
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
        return Optional.of(inward.gbs().compareTo(outward.gbs()) < 0 ? inward : outward);
    }
}
