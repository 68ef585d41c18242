package dev.banyan.study.cluster;

import dev.banyan.simulate.Profile;
import dev.banyan.topology.Machine;
import java.util.Objects;

/**
 * Equal machines joined by a network.
 *
 * @param machine each of them, of at least two devices
 * @param profile the constants of a machine
 * @param machines how many
 * @param fabric what joins them
 * @param host what their hosts do
 */
public record Cluster(Machine machine, Profile profile, int machines, Fabric fabric, HostCosts host) {
    /** More is beyond what any step of a closed form was checked for. */
    public static final int MOST_MACHINES = 1 << 20;

    /**
     * @throws IllegalArgumentException if the machine has fewer than two devices or fewer devices than NICs, or their
     *     number is out of range
     */
    public Cluster {
        Objects.requireNonNull(profile, "profile");
        Objects.requireNonNull(host, "host");
        if (machines < 1 || machines > MOST_MACHINES) {
            throw new IllegalArgumentException(
                    "a cluster of " + machines + " machines; it must have from 1 to " + MOST_MACHINES);
        }
        if (machine.size() < 2) {
            throw new IllegalArgumentException("a cluster of machines like " + machine.name() + " with "
                    + machine.size() + " devices; each must have at least 2");
        }
        if (fabric.nics() > machine.size()) {
            throw new IllegalArgumentException(machine.name() + " has " + machine.size() + " devices for "
                    + fabric.nics() + " NICs; every NIC needs a device that leads its slice");
        }
    }

    /** Devices of all machines. */
    public long gpus() {
        return (long) machines * machine.size();
    }
}
