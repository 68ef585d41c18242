package dev.banyan.mpi;

import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;

/** How many devices of a process talk to other processes. */
enum Leaders {
    /** The first device: fewest messages, and all bytes go through its memory. */
    ONE {
        @Override
        boolean leadsEach(long bytes, Communicator local) {
            return false;
        }
    },
    /** Each device, with a slice of its own: a device's memory and wires carry no more than their share. */
    EACH {
        @Override
        boolean leadsEach(long bytes, Communicator local) {
            return true;
        }
    },
    /**
     * Each device where slices are long enough to pay for the messages that come with them, and devices have memory and
     * wires of their own. In the host's memory all bytes take the same way whoever leads.
     */
    AUTO {
        @Override
        boolean leadsEach(long bytes, Communicator local) {
            return !local.inHostMemory() && bytes / local.size() >= LEAST_SLICE;
        }
    };

    /** In bytes. Assumed, not measured: such a message takes a multiple of a network's latency of some us. */
    private static final long LEAST_SLICE = 256 << 10;

    /** Greatest number of leaders at once. */
    int groups(Communicator local) {
        return local.size() > 1 && leadsEach(Long.MAX_VALUE, local) ? local.size() : 1;
    }

    /** How many of a call's elements, the first ones, go out by several leaders; the same number for each. */
    long sliced(CollectiveCall call, Communicator local) {
        long bytes = call.count() * call.type().bytes();
        return local.size() > 1 && leadsEach(bytes, local) ? call.count() - call.count() % local.size() : 0;
    }

    /** @param bytes length of one device's array */
    abstract boolean leadsEach(long bytes, Communicator local);
}
