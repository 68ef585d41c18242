package dev.banyan.study.cluster;

/**
 * The network between machines: every machine hangs with all its NICs on one leaf switch, and all leaves hang on a
 * spine that carries whatever they send. A leaf's links to the spine carry each way what its machines' NICs do,
 * divided by the oversubscription. Machines are numbered leaf by leaf.
 *
 * <p>Flows share a link max-min fairly. All flows of a step of an allreduce are equally long, so that what counts is
 * the least rate of any: the narrowest link's bandwidth by its number of flows. Immutable.
 *
 * @param nicGbs bandwidth of a NIC each way in GB/s
 * @param nics NICs of a machine; each has a leader of its own, which takes an equal slice of the data
 * @param latencyUs of a message of no bytes from a machine to another, the same within a leaf and across, in us
 * @param leafMachines machines of a leaf
 * @param oversubscription bandwidth of a leaf's machines by that of its links to the spine, at least 1
 */
public record Fabric(double nicGbs, int nics, double latencyUs, int leafMachines, double oversubscription) {
    /**
     * @throws IllegalArgumentException if an argument is out of range
     */
    public Fabric {
        if (!(nicGbs > 0) || nicGbs > 1e6) {
            throw new IllegalArgumentException("a NIC has " + nicGbs + " GB/s; it must be above 0 and at most 1000000");
        }
        if (nics < 1) {
            throw new IllegalArgumentException("a machine has " + nics + " NICs; it must have at least 1");
        }
        if (!(latencyUs >= 0) || latencyUs > 1e6) {
            throw new IllegalArgumentException("a message takes " + latencyUs + " us; it must be from 0 to 1000000");
        }
        if (leafMachines < 1) {
            throw new IllegalArgumentException("a leaf has " + leafMachines + " machines; it must have at least 1");
        }
        if (!(oversubscription >= 1) || oversubscription > 1e6) {
            throw new IllegalArgumentException(
                    "leaves are oversubscribed " + oversubscription + " times; it must be from 1 to 1000000");
        }
    }

    /** Bandwidth of a machine each way, in GB/s. */
    double machineGbs() {
        return nicGbs * nics;
    }

    /** Bandwidth between a leaf and the spine each way, in GB/s. */
    double leafGbs() {
        return leafMachines * machineGbs() / oversubscription;
    }

    /**
     * The least rate of any flow, in GB/s, where every machine sends and receives at most one at a time. O(n).
     *
     * @param peers by machine, the one that it sends to; itself where it sends nothing
     */
    double leastGbs(int[] peers) {
        int[] leaving = new int[(peers.length + leafMachines - 1) / leafMachines];
        int[] entering = new int[leaving.length];
        int most = 0;
        for (int machine = 0; machine < peers.length; machine++) {
            int from = machine / leafMachines;
            int to = peers[machine] / leafMachines;
            if (from != to) {
                most = Math.max(most, Math.max(++leaving[from], ++entering[to]));
            }
        }
        return most == 0 ? machineGbs() : Math.min(machineGbs(), leafGbs() / most);
    }
}
