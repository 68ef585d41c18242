package dev.banyan.study.cluster;

/**
 * The costs of hosts in an allreduce across machines.
 *
 * @param reduceGbs bytes of result per time that a thread of MPI sums up, in GB/s
 * @param stagingGbs between a leader's memory and the host's each way, in GB/s
 * @param handoverUs from when an operation's inputs are there to when the next one knows of its end, without its own
 *     work, in us
 * @param communicators of ConCum, each with a helper thread
 * @param outstanding keys of a group of ConCum
 */
public record HostCosts(double reduceGbs, double stagingGbs, double handoverUs, int communicators, int outstanding) {
    /**
     * Nobody measured these. 4 GB/s of floats is 12 GB/s of reading and writing by one thread; 12 GB/s is what a PCIe
     * gen3 slot of 16 lanes is taken to carry; 20 us is what {@link dev.banyan.study.training.KeyStores} take for an
     * operation of MXNet's engine.
     */
    public static final HostCosts ASSUMED = new HostCosts(4, 12, 20, 4, 4);

    /**
     * @throws IllegalArgumentException if an argument is out of range
     */
    public HostCosts {
        if (!(reduceGbs > 0) || !(stagingGbs > 0) || !(handoverUs >= 0) || Double.isInfinite(handoverUs)) {
            throw new IllegalArgumentException("a host that sums up " + reduceGbs + " GB/s, stages " + stagingGbs
                    + " GB/s and hands over in " + handoverUs + " us; bandwidths must be above 0 and times from 0 on");
        }
        if (communicators < 1 || outstanding < 1) {
            throw new IllegalArgumentException(communicators + " communicators with groups of " + outstanding
                    + " keys; there must be at least 1 of each");
        }
    }
}
