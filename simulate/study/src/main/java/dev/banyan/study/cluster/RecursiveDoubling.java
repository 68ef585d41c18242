package dev.banyan.study.cluster;

/**
 * All data exchanged and summed up at distances 1, 2, 4 and so on: log2 m steps, the least latency. Cost: O(log m).
 *
 * <p>Source: Open MPI's {@code allreduce_intra_recursivedoubling}.
 */
final class RecursiveDoubling implements LeaderAllReduce {
    private final Exchanges exchanges;
    private final double latencyUs;
    private final double reduceGbs;

    RecursiveDoubling(Exchanges exchanges, Fabric fabric, HostCosts host) {
        this.exchanges = exchanges;
        latencyUs = fabric.latencyUs();
        reduceGbs = host.reduceGbs() * fabric.nics();
    }

    @Override
    public String name() {
        return "recursive doubling";
    }

    @Override
    public Cost cost(double bytes) {
        double stepUs = latencyUs + bytes / (reduceGbs * 1e3);
        double transferUs = 0;
        for (int step = 0; step < exchanges.steps(); step++) {
            transferUs += exchanges.transferUs(step, bytes);
        }
        double restUs = exchanges.steps() * stepUs;
        if (exchanges.spare() > 0) {
            transferUs += 2 * exchanges.spareTransferUs(bytes);
            restUs += stepUs + latencyUs;
        }
        return new Cost(transferUs, restUs);
    }
}
