package dev.banyan.page.drawing;

import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The hierarchy of a machine's hubs without NVSwitches: a tier is the number of hops from the top, which is the CPU
 * sockets, or the hubs with the fewest links to devices where there is no socket. O(nodes + links).
 */
final class Tiers {
    private final Machine machine;
    /** By node; -1 for devices, NVSwitches and nodes that the top does not reach. */
    private final int[] tier;

    private final List<Integer> deviceOrder;
    private final int tiers;

    Tiers(Machine machine) {
        this.machine = machine;
        int n = machine.size();
        tier = new int[machine.nodeCount()];
        Arrays.fill(tier, -1);
        List<List<Integer>> neighbours = neighbours();
        Deque<Integer> queue = new ArrayDeque<>(tops());
        queue.forEach(top -> tier[top] = 0);
        List<List<Integer>> below = new ArrayList<>();
        for (int node = 0; node < tier.length; node++) {
            below.add(new ArrayList<>());
        }
        boolean[] placed = new boolean[n];
        while (!queue.isEmpty()) {
            int node = queue.remove();
            for (int next : neighbours.get(node)) {
                if (next < n) {
                    if (!placed[next]) {
                        placed[next] = true;
                        below.get(node).add(next);
                    }
                } else if (tier[next] < 0) {
                    tier[next] = tier[node] + 1;
                    below.get(node).add(next);
                    queue.add(next);
                }
            }
        }
        List<Integer> order = new ArrayList<>();
        tops().forEach(top -> collect(top, below, order));
        IntStream.range(0, n).filter(device -> !placed[device]).forEach(order::add);
        deviceOrder = List.copyOf(order);
        tiers = Arrays.stream(tier).max().orElse(-1) + 1;
    }

    private List<Integer> tops() {
        List<Integer> sockets = hubs(Hub.Kind.CPU_SOCKET);
        if (!sockets.isEmpty()) {
            return sockets;
        }
        List<Integer> bridges = hubs(Hub.Kind.HOST_BRIDGE);
        return bridges.isEmpty() ? hubs(Hub.Kind.PCIE_SWITCH) : bridges;
    }

    private List<Integer> hubs(Hub.Kind kind) {
        return IntStream.range(machine.size(), machine.nodeCount())
                .filter(node -> machine.node(node) instanceof Hub hub && hub.kind() == kind)
                .boxed()
                .toList();
    }

    private List<List<Integer>> neighbours() {
        List<List<Integer>> neighbours = new ArrayList<>();
        for (int node = 0; node < machine.nodeCount(); node++) {
            neighbours.add(new ArrayList<>());
        }
        for (Link link : machine.links()) {
            neighbours.get(link.a()).add(link.b());
            neighbours.get(link.b()).add(link.a());
        }
        for (int node = 0; node < machine.nodeCount(); node++) {
            int self = node;
            neighbours.get(node).removeIf(other -> self < machine.size() || isNvSwitch(other));
            neighbours.get(node).sort(null);
        }
        return neighbours;
    }

    private boolean isNvSwitch(int node) {
        return machine.node(node) instanceof Hub hub && hub.kind() == Hub.Kind.NVSWITCH;
    }

    private void collect(int node, List<List<Integer>> below, List<Integer> order) {
        for (int next : below.get(node)) {
            if (next < machine.size()) {
                order.add(next);
            } else {
                collect(next, below, order);
            }
        }
    }

    /** Tier of a node from the top, from 0; -1 if it has none. */
    int of(int node) {
        return tier[node];
    }

    /** Number of tiers of hubs. */
    int count() {
        return tiers;
    }

    /** All devices, those below one hub next to each other. */
    List<Integer> deviceOrder() {
        return deviceOrder;
    }
}
