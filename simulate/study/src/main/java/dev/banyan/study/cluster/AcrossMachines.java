package dev.banyan.study.cluster;

import dev.banyan.study.training.Gradient;
import java.util.Comparator;
import java.util.List;

/** Allreduces between the leaders of a cluster's machines. */
final class AcrossMachines {
    private static final double OPEN_MPI_SHORT_BYTES = 10_000;
    private static final LeaderAllReduce.Cost NOTHING = new LeaderAllReduce.Cost(0, 0);

    private final int machines;
    private final AllReduceRule rule;
    private final double barrierUs;
    private final LeaderAllReduce ring;
    private final LeaderAllReduce doubling;
    private final LeaderAllReduce halving;

    AcrossMachines(Cluster cluster, AllReduceRule rule) {
        this.rule = rule;
        machines = cluster.machines();
        Exchanges exchanges = new Exchanges(machines, cluster.fabric());
        barrierUs =
                cluster.fabric().latencyUs() * Integer.numberOfTrailingZeros(Integer.highestOneBit(2 * machines - 1));
        ring = new LeaderRing(machines, cluster.fabric(), cluster.host());
        doubling = new RecursiveDoubling(exchanges, cluster.fabric(), cluster.host());
        halving = new HalvingDoubling(exchanges, cluster.fabric(), cluster.host());
    }

    /** Returns the algorithm that carries so many bytes. */
    LeaderAllReduce algorithm(double bytes) {
        return switch (rule) {
            case LEAST_TIME ->
                List.of(doubling, halving, ring).stream()
                        .min(Comparator.comparingDouble(each -> each.cost(bytes).us()))
                        .orElseThrow();
            case OPEN_MPI_4_0 ->
                bytes < OPEN_MPI_SHORT_BYTES || bytes / Gradient.ELEMENT_BYTES <= machines ? doubling : ring;
        };
    }

    /** Returns the cost of an allreduce of so many bytes; nothing for one machine. */
    LeaderAllReduce.Cost cost(double bytes) {
        return machines == 1 ? NOTHING : algorithm(bytes).cost(bytes);
    }

    /** A barrier of log2 m messages one after another (dissemination), in us. */
    double barrierUs() {
        return barrierUs;
    }
}
