package dev.banyan.mpi;

import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;

/** The devices of a process that exchange data with other processes. */
enum Leaders {
    /** The first device leads: the fewest messages, and all bytes go through its memory. */
    ONE,
    /** Each device leads for a slice of its own: the memory and the links of a device carry only their share. */
    EACH,
    /**
     * Each device leads if slices are long enough to pay for the additional messages and devices have memory and links
     * of their own. In host memory all bytes take the same path with any leaders.
     */
    AUTO;

    /** In bytes. Assumed, not measured: a message of this length takes a multiple of a network latency of some us. */
    private static final long LEAST_SLICE = 256 << 10;

    /** Returns the greatest number of leaders at once. */
    int groups(Communicator local) {
        return leadsEach(Long.MAX_VALUE, local) ? local.size() : 1;
    }

    /** Returns how many of a call's first elements several leaders exchange, each the same number of them. */
    long sliced(CollectiveCall call, Communicator local) {
        long bytes = call.count() * call.type().bytes();
        return leadsEach(bytes, local) ? call.count() - call.count() % local.size() : 0;
    }

    /** @param bytes the length of one device's array */
    private boolean leadsEach(long bytes, Communicator local) {
        return local.size() > 1
                && switch (this) {
                    case ONE -> false;
                    case EACH -> true;
                    case AUTO -> !local.inHostMemory() && bytes / local.size() >= LEAST_SLICE;
                };
    }
}
