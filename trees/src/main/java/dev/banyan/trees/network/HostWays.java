package dev.banyan.trees.network;

import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The hubs below CPU sockets where no data turn around: copies between devices without peer access go up to host memory
 * and down again, through a switch that both share, too. Such a hub, below which no two devices that meet there have
 * access, counts twice: data on the way up enter the hub itself, and those on the way down its twin.
 *
 * <p>If all links are equally wide both ways, turning all arcs around gives the same network but for the names of such
 * hubs: what holds of equally wide links holds here, too. Twins have indices of their own behind the machine's nodes.
 * O(nodes x links + pairs of devices).
 */
final class HostWays {
    private final Machine machine;
    /** By node: links to the nearest CPU socket; -1 where no path leads to one, or everything has access. */
    private final int[] depth;
    /** By node: its twin, or itself. */
    private final int[] twin;
    /** By twin, from the first: the hub. */
    private final List<Integer> hubs = new ArrayList<>();

    /** @param firstTwin index of the first twin */
    HostWays(Machine machine, int firstTwin) {
        this.machine = machine;
        depth = new int[machine.nodeCount()];
        Arrays.fill(depth, -1);
        twin = new int[machine.nodeCount()];
        for (int node = 0; node < twin.length; node++) {
            twin[node] = node;
        }
        for (Device device : machine.devices()) {
            if (device.attributes().containsKey(NoPeerAccess.ATTRIBUTE)) {
                // The deepest hubs come first, as those above depend on them.
                for (int node : fromTheSockets().reversed()) {
                    if (depth[node] > 0 && isHostHub(node) && nothingTurnsAt(node)) {
                        twin[node] = firstTwin + hubs.size();
                        hubs.add(node);
                    }
                }
                return;
            }
        }
    }

    /** Returns the hubs that have twins, in the order of these. */
    List<Integer> hubs() {
        return hubs;
    }

    /** Returns the node that data over a link leave. */
    int from(int from, int to) {
        return goesDown(from, to) ? twin[from] : from;
    }

    /** Returns the node that data over a link enter. */
    int to(int from, int to) {
        return goesDown(from, to) ? twin[to] : to;
    }

    private boolean goesDown(int from, int to) {
        return depth[from] >= 0 && depth[to] > depth[from];
    }

    /** Finds the depths, and returns the nodes that a path leads to, the nearest ones first. */
    private List<Integer> fromTheSockets() {
        List<Integer> reached = new ArrayList<>();
        for (int node = machine.size(); node < depth.length; node++) {
            if (machine.node(node) instanceof Hub hub && hub.kind() == Hub.Kind.CPU_SOCKET) {
                depth[node] = 0;
                reached.add(node);
            }
        }
        for (int next = 0; next < reached.size(); next++) {
            int node = reached.get(next);
            for (int other : neighbours(node)) {
                if (depth[other] < 0) {
                    depth[other] = depth[node] + 1;
                    reached.add(other);
                }
            }
        }
        return reached;
    }

    private List<Integer> neighbours(int node) {
        List<Integer> neighbours = new ArrayList<>();
        for (Link link : machine.links()) {
            if ((link.a() == node || link.b() == node)
                    && !link.kind().isNvLinkClass()
                    && !neighbours.contains(link.other(node))) {
                neighbours.add(link.other(node));
            }
        }
        return neighbours;
    }

    private boolean isHostHub(int node) {
        return machine.node(node) instanceof Hub hub && hub.kind() != Hub.Kind.NVSWITCH;
    }

    /** Returns whether devices meet at a hub or below, and none of them that meet at it has access to another. */
    private boolean nothingTurnsAt(int hub) {
        boolean meet = false;
        List<Integer> before = new ArrayList<>();
        for (int child : children(hub)) {
            meet |= twin[child] != child;
            List<Integer> devices = devices(child);
            for (int device : devices) {
                for (int other : before) {
                    meet = true;
                    if (!NoPeerAccess.between(machine, device, other)) {
                        return false;
                    }
                }
            }
            before.addAll(devices);
        }
        return meet;
    }

    private List<Integer> children(int node) {
        List<Integer> children = new ArrayList<>();
        for (int other : neighbours(node)) {
            if (depth[other] > depth[node]) {
                children.add(other);
            }
        }
        return children;
    }

    private List<Integer> devices(int node) {
        if (node < machine.size()) {
            return List.of(node);
        }
        List<Integer> devices = new ArrayList<>();
        for (int child : children(node)) {
            devices.addAll(devices(child));
        }
        return devices;
    }
}
