package dev.banyan.topology.internal.nccl;

import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The PCIe links of a machine as trees under its CPU sockets, the way NCCL's files nest them. */
final class PcieTree {
    private static final int NONE = -1;

    private final Machine machine;
    /** Per node the indices of its PCIe links. */
    private final List<List<Integer>> linksOf = new ArrayList<>();
    /** Per node the index of the link to what is above it; NONE for sockets, NVSwitches and what hangs on no socket. */
    private final int[] up;

    private final boolean[] reached;

    /**
     * Finds the trees.
     *
     * @throws IllegalArgumentException if the PCIe links have a loop, or two devices are linked directly
     */
    PcieTree(Machine machine) {
        this.machine = machine;
        up = new int[machine.nodeCount()];
        Arrays.fill(up, NONE);
        reached = new boolean[machine.nodeCount()];
        for (int node = 0; node < machine.nodeCount(); node++) {
            linksOf.add(new ArrayList<>());
        }
        for (int i = 0; i < machine.links().size(); i++) {
            Link link = machine.links().get(i);
            if (link.kind() != Link.Kind.PCIE) {
                continue;
            }
            if (!forwards(link.a()) && !forwards(link.b())) {
                throw cannot(link, "neither end of which is a PCIe switch, host bridge or CPU socket");
            }
            linksOf.get(link.a()).add(i);
            linksOf.get(link.b()).add(i);
        }
        for (int node = machine.size(); node < machine.nodeCount(); node++) {
            if (isKind(node, Hub.Kind.CPU_SOCKET)) {
                grow(node);
            }
        }
        // A switch or bridge without a socket begins its own tree.
        for (int node = machine.size(); node < machine.nodeCount(); node++) {
            if (!reached[node] && !isKind(node, Hub.Kind.NVSWITCH)) {
                grow(node);
            }
        }
    }

    private boolean isKind(int node, Hub.Kind kind) {
        return machine.node(node) instanceof Hub hub && hub.kind() == kind;
    }

    private boolean forwards(int node) {
        return machine.node(node) instanceof Hub hub && hub.kind() != Hub.Kind.NVSWITCH;
    }

    private void grow(int root) {
        Deque<Integer> queue = new ArrayDeque<>();
        reached[root] = true;
        queue.add(root);
        while (!queue.isEmpty()) {
            int node = queue.remove();
            for (int index : linksOf.get(node)) {
                if (index == up[node]) {
                    continue;
                }
                Link link = machine.links().get(index);
                int other = link.other(node);
                if (reached[other]) {
                    throw cannot(link, "which closes a loop");
                }
                reached[other] = true;
                up[other] = index;
                if (forwards(other)) {
                    queue.add(other);
                }
            }
        }
    }

    private IllegalArgumentException cannot(Link link, String why) {
        return cannot(machine, "PCIe link", link, ", " + why);
    }

    /** The exception that says why a link cannot be written. */
    static IllegalArgumentException cannot(Machine machine, String kind, Link link, String why) {
        return new IllegalArgumentException("NCCL's files cannot express the " + kind + " between "
                + machine.node(link.a()).name() + " and "
                + machine.node(link.b()).name() + why
                + "; write JSON instead");
    }

    /** The link to what is above a node, or null. */
    @Nullable
    Link up(int node) {
        return up[node] == NONE ? null : machine.links().get(up[node]);
    }

    /** Hubs and then devices right below a node. */
    List<Integer> below(int node) {
        return nodes(child -> {
            Link link = up(child);
            return link != null && link.other(child) == node;
        });
    }

    /** Hubs but NVSwitches, and devices, that have nothing above them; sockets are such. */
    List<Integer> roots() {
        return nodes(node -> up[node] == NONE && !isKind(node, Hub.Kind.NVSWITCH));
    }

    /** Hubs and then devices that meet a condition. */
    private List<Integer> nodes(IntPredicate condition) {
        return IntStream.concat(
                        IntStream.range(machine.size(), machine.nodeCount()), IntStream.range(0, machine.size()))
                .filter(condition)
                .boxed()
                .toList();
    }

    /** The socket above a node, or -1. */
    int socketAbove(int node) {
        int at = node;
        for (Link link = up(at); link != null; link = up(at)) {
            at = link.other(at);
        }
        return isKind(at, Hub.Kind.CPU_SOCKET) ? at : -1;
    }
}
