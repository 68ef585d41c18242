package dev.banyan.trees.internal;

import dev.banyan.trees.network.Network;
import java.util.Arrays;

/**
 * The links of a direct network whose links are equally wide both ways, as an undirected graph: nodes are
 * the ranks, and each pair of opposite arcs is one link.
 *
 * <p>A link has two ends: end {@code 2 * link} is at its lower rank, end {@code 2 * link + 1} at its higher.
 * The ends at a rank are listed by {@link #end}.
 *
 * <p>Immutable and safe for use from any thread.
 */
public final class DuplexLinks {
    private final int nodes;
    private final int[] rankAt;
    private final long[] capacity;
    private final int[] firstEnd;
    private final int[] ends;
    private final int[] neighbours;

    private DuplexLinks(Network network) {
        nodes = network.ranks();
        int links = network.arcs() / 2;
        rankAt = new int[2 * links];
        capacity = new long[links];
        firstEnd = new int[nodes + 1];
        ends = new int[2 * links];
        int link = 0;
        for (int forwards = 0; forwards < network.arcs(); forwards++) {
            if (network.from(forwards) < network.to(forwards)) {
                rankAt[2 * link] = network.from(forwards);
                rankAt[2 * link + 1] = network.to(forwards);
                capacity[link++] = network.capacity(forwards);
            }
        }
        for (int rank : rankAt) {
            firstEnd[rank + 1]++;
        }
        for (int rank = 0; rank < nodes; rank++) {
            firstEnd[rank + 1] += firstEnd[rank];
        }
        int[] filled = Arrays.copyOf(firstEnd, nodes);
        for (int end = 0; end < rankAt.length; end++) {
            ends[filled[rankAt[end]]++] = end;
        }
        neighbours = new int[2 * links];
        for (int index = 0; index < neighbours.length; index++) {
            neighbours[index] = rankAt[ends[index] ^ 1];
        }
    }

    /**
     * The links of a network.
     *
     * @throws IllegalArgumentException if it has forwarders, or links wider one way than the other
     */
    public static DuplexLinks of(Network network) {
        if (!network.direct() || !network.symmetric()) {
            throw new IllegalArgumentException("the network of " + network.name() + " has "
                    + (network.direct() ? "links wider one way than the other" : "forwarders")
                    + "; spanning trees alone don't describe what it can carry, take AllReducePacking");
        }
        return new DuplexLinks(network);
    }

    /** Number of ranks. */
    public int nodes() {
        return nodes;
    }

    /** Number of links. */
    public int links() {
        return capacity.length;
    }

    /** The rank at an end. */
    public int rankAt(int end) {
        return rankAt[end];
    }

    /** Capacity of a link one way, in units of the network. */
    public long capacity(int link) {
        return capacity[link];
    }

    /** Index into {@link #end} of the first end at a rank; they go on to before {@code firstEnd(rank + 1)}. */
    public int firstEnd(int rank) {
        return firstEnd[rank];
    }

    /** An end at a rank; the other end of its link is {@code end ^ 1}. */
    public int end(int index) {
        return ends[index];
    }

    /** The rank at the other end of the link whose end is {@link #end} of an index. */
    public int neighbour(int index) {
        return neighbours[index];
    }
}
