package dev.banyan.study.cluster;

import dev.banyan.simulate.Profile;
import dev.banyan.topology.Machine;
import java.util.List;

/**
 * Clusters of different sizes that are alike in all else.
 *
 * @param fabric what joins machines
 * @param sizes numbers of machines, ascending
 * @param one costs of one such machine, which knows what is simulated inside of it for all clusters
 */
public record Setup(Fabric fabric, List<Integer> sizes, KeyCosts one) {

    /**
     * Returns the clusters of a machine.
     *
     * @throws IllegalArgumentException if one of the clusters can't be
     */
    public static Setup of(Machine machine, Profile profile, Fabric fabric, List<Integer> sizes) {
        Cluster one = new Cluster(machine, profile, 1, fabric, HostCosts.ASSUMED);
        Setup setup = new Setup(fabric, sizes, new KeyCosts(one, AllReduceRule.LEAST_TIME));
        sizes.forEach(setup::cluster);
        return setup;
    }

    /** Each machine. */
    public Machine machine() {
        return one.cluster().machine();
    }

    /** Its constants. */
    public Profile profile() {
        return one.cluster().profile();
    }

    private Cluster cluster(int machines) {
        return new Cluster(machine(), profile(), machines, fabric, one.cluster().host());
    }

    public KeyCosts costs(int machines, AllReduceRule rule) {
        return one.joined(cluster(machines), rule);
    }

    public Setup oversubscribed(double times) {
        return new Setup(
                new Fabric(fabric.nicGbs(), fabric.nics(), fabric.latencyUs(), fabric.leafMachines(), times),
                sizes,
                one);
    }
}
