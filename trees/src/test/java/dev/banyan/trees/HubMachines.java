package dev.banyan.trees;

import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Machines with hubs to test with. */
public final class HubMachines {
    private HubMachines() {}

    /**
     * A random connected machine: hubs in a random tree with further links, every device below one or two
     * of them, and NVLinks between some devices.
     *
     * @param even whether all links are equally wide both ways
     */
    public static Machine random(Random random, int devices, int hubs, boolean even) {
        List<Link> links = new ArrayList<>();
        for (int b = 1; b < hubs; b++) {
            int parent = random.nextInt(b);
            for (int a = 0; a < b; a++) {
                if (a == parent || random.nextInt(4) == 0) {
                    links.add(link(random, devices + a, devices + b, even));
                }
            }
        }
        double direct = random.nextInt(3) == 0 ? 0 : random.nextDouble() / 2;
        for (int device = 0; device < devices; device++) {
            int hub = random.nextInt(hubs);
            links.add(link(random, device, devices + hub, even));
            if (hubs > 1 && random.nextInt(4) == 0) {
                links.add(link(random, device, devices + (hub + 1) % hubs, even));
            }
            for (int other = 0; other < device; other++) {
                if (random.nextDouble() < direct) {
                    links.add(link(random, other, device, even));
                }
            }
        }
        return Networks.machine("random-" + devices + "+" + hubs, devices, hubs, links);
    }

    private static Link link(Random random, int a, int b, boolean even) {
        int gbs = 1 + random.nextInt(6);
        return new Link(a, b, Link.Kind.PCIE, 16, gbs, even ? gbs : 1 + random.nextInt(6), 1);
    }

    /** Devices that are all linked to each of some switches, as wide as given. */
    public static Machine planes(int devices, int... gbs) {
        List<Link> links = new ArrayList<>();
        for (int device = 0; device < devices; device++) {
            for (int plane = 0; plane < gbs.length; plane++) {
                links.add(Link.duplex(device, devices + plane, Link.Kind.PCIE, 16, gbs[plane], 1));
            }
        }
        return Networks.machine("planes-" + devices, devices, gbs.length, links);
    }

    /** Two devices per switch, two switches per socket, sockets in a ring. */
    public static Machine sockets(int devices) {
        List<Link> links = new ArrayList<>();
        int switches = devices / 2;
        int sockets = Math.max(1, switches / 2);
        for (int device = 0; device < devices; device++) {
            links.add(Link.duplex(device, devices + device / 2, Link.Kind.PCIE, 16, 12.5, 1));
        }
        for (int hub = 0; hub < switches; hub++) {
            links.add(Link.duplex(devices + hub, devices + switches + hub / 2, Link.Kind.PCIE, 16, 12.5, 1));
        }
        for (int socket = 0; socket < sockets && sockets > 1; socket++) {
            if (socket > 0 || sockets > 2) {
                links.add(Link.duplex(
                        devices + switches + socket,
                        devices + switches + (socket + 1) % sockets,
                        Link.Kind.SOCKET,
                        1,
                        19.2,
                        1));
            }
        }
        return Networks.machine("sockets-" + devices, devices, switches + sockets, links);
    }
}
