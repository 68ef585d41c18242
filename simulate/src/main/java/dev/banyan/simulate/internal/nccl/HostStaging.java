package dev.banyan.simulate.internal.nccl;

import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A machine as devices without peer access see it: no NVLink, and every PCIe switch twice, once on the way up to
 * a CPU socket and once on the way down, so that no path turns around below the host's memory. The two directions
 * of a link stay as wide as they were.
 */
final class HostStaging {
    private final Machine machine;
    /** By node: hops to the nearest root; -1 where there is none. */
    private final int[] depth;

    private final List<Hub> hubs;
    private final List<Link> links = new ArrayList<>();

    private HostStaging(Machine machine) {
        this.machine = machine;
        hubs = new ArrayList<>(machine.hubs());
        depth = depths();
    }

    /**
     * O(nodes + links).
     *
     * @throws IllegalArgumentException if a device has no path to a CPU socket
     */
    static Machine of(Machine machine) {
        return new HostStaging(machine).staged();
    }

    private Machine staged() {
        for (int device = 0; device < machine.size(); device++) {
            if (depth[device] < 0) {
                throw new IllegalArgumentException(machine.name() + " describes no path from "
                        + machine.devices().get(device).name()
                        + " to the host's memory; describe its PCIe switches and CPU sockets");
            }
        }
        int[] down = new int[machine.nodeCount()];
        for (int node = 0; node < down.length; node++) {
            down[node] = node;
            if (node >= machine.size() && depth[node] > 0) {
                down[node] = machine.size() + hubs.size();
                hubs.add(Hub.of(machine.node(node).name() + " down", Hub.Kind.PCIE_SWITCH));
            }
        }
        for (Link link : machine.links()) {
            if (!isOfHost(link)) {
                continue;
            }
            int lower = depth[link.a()] > depth[link.b()] ? link.a() : link.b();
            int upper = link.other(lower);
            if (depth[lower] == depth[upper]) {
                links.add(link);
            } else {
                links.add(oneWay(lower, upper, link, link.gbsFrom(lower)));
                links.add(oneWay(down[upper], down[lower], link, link.gbsFrom(upper)));
            }
        }
        List<Device> devices = machine.devices();
        return new Machine(machine.name(), devices, hubs, links, List.of(), machine.warnings());
    }

    private static Link oneWay(int from, int to, Link like, double gbs) {
        return new Link(from, to, like.kind(), like.lanes(), gbs, 0, like.latencyUs());
    }

    private static boolean isOfHost(Link link) {
        return !link.kind().isNvLinkClass();
    }

    private int[] depths() {
        int[] found = new int[machine.nodeCount()];
        Arrays.fill(found, -1);
        ArrayDeque<Integer> queue = new ArrayDeque<>();
        for (int hub = 0; hub < machine.hubs().size(); hub++) {
            Hub.Kind kind = machine.hubs().get(hub).kind();
            if (kind == Hub.Kind.CPU_SOCKET) {
                found[machine.size() + hub] = 0;
                queue.add(machine.size() + hub);
            }
        }
        while (!queue.isEmpty()) {
            int node = queue.remove();
            for (Link link : machine.links()) {
                if (isOfHost(link) && (link.a() == node || link.b() == node) && found[link.other(node)] < 0) {
                    found[link.other(node)] = found[node] + 1;
                    queue.add(link.other(node));
                }
            }
        }
        return found;
    }
}
