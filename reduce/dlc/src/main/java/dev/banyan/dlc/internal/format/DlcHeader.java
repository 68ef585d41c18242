package dev.banyan.dlc.internal.format;

import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * The nodes of a run, and the one that this trace belongs to.
 *
 * @param role what the node is that recorded
 * @param hostname the machine that it ran on
 * @param workers nodes that work
 * @param servers nodes that serve
 */
public record DlcHeader(DlcRole role, String hostname, List<Integer> workers, List<Integer> servers) {
    /**
     * @throws IllegalArgumentException if a node is in both lists, or the host's name is none
     */
    public DlcHeader {
        Objects.requireNonNull(role, "role");
        workers = List.copyOf(workers);
        servers = List.copyOf(servers);
        if (!hostname.matches("\\S+")) {
            throw new IllegalArgumentException("'" + hostname + "' is no name of a host");
        }
        for (int server : servers) {
            if (workers.contains(server)) {
                throw new IllegalArgumentException("node " + server + " can't be both a worker and a server");
            }
        }
    }

    /** Numbered as the format has it: workers first, then servers. */
    public static DlcHeader of(DlcRole role, String hostname, int workers, int servers) {
        return new DlcHeader(
                role,
                hostname,
                IntStream.range(0, workers).boxed().toList(),
                IntStream.range(workers, workers + servers).boxed().toList());
    }

    /** Index of a node among those of its role, or -1. */
    public int index(DlcRole of, int node) {
        return (of == DlcRole.WORKER ? workers : servers).indexOf(node);
    }
}
