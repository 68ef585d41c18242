package dev.banyan.study.cluster;

/** An allreduce between the leaders of machines, priced in closed form. */
interface LeaderAllReduce {
    /**
     * The time of an allreduce: messages' latencies, their bytes on the links, and the host's sums.
     *
     * @param transferUs time for which a machine's NICs are busy, in us
     * @param restUs all other time, in us
     */
    record Cost(double transferUs, double restUs) {
        double us() {
            return transferUs + restUs;
        }
    }

    /** Returns its name. */
    String name();

    /**
     * Its cost.
     *
     * @param bytes of all slices of the data together
     */
    Cost cost(double bytes);
}
