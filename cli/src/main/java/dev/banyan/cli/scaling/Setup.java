package dev.banyan.cli.scaling;

import dev.banyan.simulate.Profile;
import dev.banyan.simulate.cluster.Cluster;
import dev.banyan.simulate.cluster.Fabric;
import dev.banyan.simulate.cluster.HostCosts;
import dev.banyan.topology.Machine;
import java.util.List;

/**
 * Clusters of different sizes that are alike in all else.
 *
 * @param machine each machine
 * @param profile its constants
 * @param fabric what joins machines
 * @param sizes numbers of machines, ascending
 */
record Setup(Machine machine, Profile profile, Fabric fabric, List<Integer> sizes) {
    Setup {
        sizes = List.copyOf(sizes);
    }

    Cluster cluster(int machines) {
        return new Cluster(machine, profile, machines, fabric, HostCosts.ASSUMED);
    }

    Setup oversubscribed(double times) {
        return new Setup(
                machine,
                profile,
                new Fabric(fabric.nicGbs(), fabric.nics(), fabric.latencyUs(), fabric.leafMachines(), times),
                sizes);
    }
}
