package dev.banyan.trees;

import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/** Machines and networks to test with. */
public final class Networks {
    private Networks() {}

    public static Machine preset(String name) {
        return Machine.preset(name);
    }

    /** Devices and hubs without latencies: nodes 0..devices-1, then hubs. */
    public static Machine machine(String name, int devices, int hubs, List<Link> links) {
        return new Machine(
                name,
                IntStream.range(0, devices)
                        .mapToObj(i -> Device.named("GPU" + i))
                        .toList(),
                IntStream.range(0, hubs)
                        .mapToObj(i -> Hub.of("switch" + i, Hub.Kind.PCIE_SWITCH))
                        .toList(),
                links,
                List.of(),
                List.of());
    }

    /** NVLinks between devices, each {a, b, GB/s both ways}. */
    public static Machine direct(int devices, int[]... links) {
        return machine(
                "direct-" + devices,
                devices,
                0,
                Arrays.stream(links)
                        .map(link -> Link.duplex(link[0], link[1], Link.Kind.NVLINK, 1, link[2], 1))
                        .toList());
    }

    /** A random connected machine of direct links: a random tree and as many further links as the density asks. */
    public static Machine random(Random random, int devices, int greatestCapacity) {
        double density = random.nextDouble();
        List<int[]> links = new ArrayList<>();
        for (int b = 1; b < devices; b++) {
            int parent = random.nextInt(b);
            for (int a = 0; a < b; a++) {
                if (a == parent || random.nextDouble() < density) {
                    links.add(new int[] {a, b, 1 + random.nextInt(greatestCapacity)});
                }
            }
        }
        return direct(devices, links.toArray(int[][]::new));
    }

    /**
     * A random connected machine with hubs: each device hangs on a hub or another device, the hubs on each
     * other, and further links join any two nodes.
     */
    public static Machine randomWithHubs(Random random, int devices, int hubs, int greatestCapacity) {
        double density = random.nextDouble() / 2;
        List<Link> links = new ArrayList<>();
        int nodes = devices + hubs;
        for (int b = nodes - 2; b >= 0; b--) {
            int parent = b < devices && random.nextInt(4) > 0
                    ? devices + random.nextInt(hubs)
                    : b + 1 + random.nextInt(nodes - 1 - b);
            for (int a = b + 1; a < nodes; a++) {
                if (a == parent || random.nextDouble() < density) {
                    links.add(Link.duplex(a, b, Link.Kind.PCIE, 1, 1 + random.nextInt(greatestCapacity), 1));
                }
            }
        }
        return machine("hubs-" + devices + "-" + hubs, devices, hubs, links);
    }

    /** A machine whose links all have a random capacity of their own each way. */
    public static Machine unevenly(Random random, Machine machine, int greatestCapacity) {
        return new Machine(
                "uneven " + machine.name(),
                machine.devices(),
                machine.hubs(),
                machine.links().stream()
                        .map(link -> new Link(
                                link.a(),
                                link.b(),
                                link.kind(),
                                1,
                                1 + random.nextInt(greatestCapacity),
                                1 + random.nextInt(greatestCapacity),
                                1))
                        .toList(),
                List.of(),
                List.of());
    }

    public static Network p3Subset(int... devices) {
        return Network.of(preset("p3.16xlarge"), devices);
    }

    /** All sets of at least so many of the devices 0..n-1, in ascending order of bit masks. */
    public static List<int[]> subsets(int devices, int least) {
        return IntStream.range(0, 1 << devices)
                .filter(set -> Integer.bitCount(set) >= least)
                .mapToObj(set -> IntStream.range(0, devices)
                        .filter(device -> (set >> device & 1) != 0)
                        .toArray())
                .toList();
    }
}
