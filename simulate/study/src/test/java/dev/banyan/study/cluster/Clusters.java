package dev.banyan.study.cluster;

import dev.banyan.simulate.Profiles;
import dev.banyan.topology.Machine;

/** Clusters for tests. */
final class Clusters {
    private Clusters() {}

    static Cluster of(int machines) {
        return of(machines, new Fabric(12.5, 1, 2, 18, 1));
    }

    static Cluster of(int machines, Fabric fabric) {
        Machine machine = Minsky.machine();
        return new Cluster(machine, Profiles.of(machine), machines, fabric, HostCosts.ASSUMED);
    }
}
