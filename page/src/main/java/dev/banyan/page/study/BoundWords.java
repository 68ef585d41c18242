package dev.banyan.page.study;

import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import java.util.List;

/** Writes what a page says of the bound of an allreduce. */
public interface BoundWords {
    /**
     * Returns the certificate as a sentence.
     *
     * @param network on which the bound holds
     */
    String certificate(Bound bound, Network network);

    /**
     * Returns which links and which abilities of switches the bound of a network counts, e.g. {@code NVLink}; empty
     * where that is all that the machine has.
     */
    String counted(Network network);

    /**
     * Returns the greater bounds of the same devices with all abilities and links, one phrase each.
     *
     * @param bound that of the network
     */
    List<String> beyond(Network network, Bound bound);
}
