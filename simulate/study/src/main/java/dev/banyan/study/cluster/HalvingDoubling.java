package dev.banyan.study.cluster;

/**
 * A reduce-scatter by exchanging a half, a quarter, an eighth of the data at distances 1, 2, 4, then an all-gather back
 * the same way: 2 log2 m steps with as few bytes as a ring. Most bytes go to the nearest machine, so that
 * oversubscription costs little. Cost: O(log m).
 *
 * <p>Source: R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004, <a
 * href="https://doi.org/10.1007/978-3-540-24685-5_1">doi:10.1007/978-3-540-24685-5_1</a>; Open MPI's {@code
 * allreduce_intra_redscat_allgather}.
 */
final class HalvingDoubling implements LeaderAllReduce {
    private final Exchanges exchanges;
    private final double latencyUs;
    private final double reduceGbs;

    HalvingDoubling(Exchanges exchanges, Fabric fabric, HostCosts host) {
        this.exchanges = exchanges;
        latencyUs = fabric.latencyUs();
        reduceGbs = host.reduceGbs() * fabric.nics();
    }

    @Override
    public String name() {
        return "halving-doubling";
    }

    @Override
    public Cost cost(double bytes) {
        double transferUs = 0;
        double restUs = 0;
        double part = bytes;
        for (int step = 0; step < exchanges.steps(); step++) {
            part /= 2;
            transferUs += 2 * exchanges.transferUs(step, part);
            restUs += 2 * latencyUs + part / (reduceGbs * 1e3);
        }
        if (exchanges.spare() > 0) {
            // Halves to and fro, each summed up on one side; one half back; in the end all of the result.
            transferUs += 2 * exchanges.spareTransferUs(bytes);
            restUs += 3 * latencyUs + bytes / 2 / (reduceGbs * 1e3);
        }
        return new Cost(transferUs, restUs);
    }
}
