package dev.banyan.study.cluster;

import java.util.stream.IntStream;

/**
 * A ring over all machines: 2(m - 1) steps of an m-th of the data, of which the first half sum up. One flow enters and
 * one leaves each leaf, so that oversubscription costs nothing until it exceeds a leaf's machines. Cost: O(1).
 *
 * <p>Source: Open MPI's {@code allreduce_intra_ring}; its segmented ring sends the same bytes over the same links.
 */
final class LeaderRing implements LeaderAllReduce {
    private final int machines;
    private final double gbs;
    private final double latencyUs;
    private final double reduceGbs;

    LeaderRing(int machines, Fabric fabric, HostCosts host) {
        this.machines = machines;
        gbs = fabric.leastGbs(IntStream.range(0, machines)
                .map(machine -> (machine + 1) % machines)
                .toArray());
        latencyUs = fabric.latencyUs();
        reduceGbs = host.reduceGbs() * fabric.nics();
    }

    @Override
    public String name() {
        return "ring";
    }

    @Override
    public Cost cost(double bytes) {
        double block = bytes / machines;
        int half = machines - 1;
        return new Cost(2 * half * block / (gbs * 1e3), 2 * half * latencyUs + half * block / (reduceGbs * 1e3));
    }
}
