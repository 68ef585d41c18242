package dev.banyan.topology;

import dev.banyan.config.internal.SimilarNames;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.stream.IntStream;

/**
 * The devices of one machine, its hubs, and the links between them. Immutable and safe for use from any
 * thread.
 *
 * <p>Nodes are numbered: devices 0..n-1 in the order of {@link #devices()}, then hubs n..n+h-1 in the
 * order of {@link #hubs()}. {@link Link#a()}, {@link Link#b()} and {@link Nic#hub()} are such indices.
 *
 * @param name what the machine is called, e.g. {@code p3.16xlarge}
 * @param devices the GPUs; may be empty (a description of a machine without devices is legal)
 * @param hubs what only forwards
 * @param links direct connections; two nodes may have several
 * @param nics network cards
 * @param warnings what was odd in the description, one sentence each
 * @param assumed speeds that the description leaves open and that were assumed, one phrase each, e.g. {@code 25 GB/s
 * one
 *     way per NVLink}
 */
public record Machine(
        String name,
        List<Device> devices,
        List<Hub> hubs,
        List<Link> links,
        List<Nic> nics,
        List<String> warnings,
        List<String> assumed) {
    /**
     * @throws IllegalArgumentException if a link or a card ends at a node that is not there
     */
    public Machine {
        Objects.requireNonNull(name, "name");
        devices = List.copyOf(devices);
        hubs = List.copyOf(hubs);
        links = List.copyOf(links);
        nics = List.copyOf(nics);
        warnings = List.copyOf(warnings);
        assumed = List.copyOf(assumed);
        int nodes = devices.size() + hubs.size();
        for (Link link : links) {
            if (link.a() >= nodes || link.b() >= nodes) {
                throw new IllegalArgumentException("link " + link.a() + "-" + link.b() + " ends outside the " + nodes
                        + " nodes of " + name + "; node indices are 0.." + (nodes - 1));
            }
        }
        for (Nic nic : nics) {
            if (nic.hub() >= nodes || nic.hub() < -1) {
                throw new IllegalArgumentException("network card " + nic.name() + " hangs on node " + nic.hub()
                        + ", outside the " + nodes + " nodes of " + name + "; use -1 where it is not known");
            }
        }
    }

    /** A machine whose description leaves no speed open. */
    public Machine(
            String name,
            List<Device> devices,
            List<Hub> hubs,
            List<Link> links,
            List<Nic> nics,
            List<String> warnings) {
        this(name, devices, hubs, links, nics, warnings, List.of());
    }

    /**
     * Returns a machine that Banyan knows by name, e.g. {@code p3.16xlarge} or {@code dgx-h100}.
     *
     * @throws IllegalArgumentException if it knows none of this name; the message lists the names
     */
    public static Machine preset(String name) {
        return Presets.find(name)
                .orElseThrow(() -> new IllegalArgumentException("no preset is called '" + name + "'"
                        + SimilarNames.question(name, Presets.names()) + "; Presets.names() lists all"));
    }

    /**
     * Probes the machine that the program runs on.
     *
     * @return at least one device
     * @throws IllegalStateException if no probe finds a device that can be used; the message says why and what to do
     */
    public static Machine probe() {
        return switch (ThisMachine.look()) {
            case ThisMachine.Found found -> found.machine();
            case ThisMachine.Missing missing -> throw new IllegalStateException(missing.reason());
        };
    }

    /** Number of devices. */
    public int size() {
        return devices.size();
    }

    /** Index of the device of a PCI bus id; none if no device has it. */
    public OptionalInt deviceAt(String busId) {
        return IntStream.range(0, size())
                .filter(device -> busId.equals(devices.get(device).busId()))
                .findFirst();
    }

    /** Number of nodes: devices and hubs. */
    public int nodeCount() {
        return devices.size() + hubs.size();
    }

    /**
     * The node of an index.
     *
     * @param index 0..{@link #nodeCount()}-1
     */
    public Node node(int index) {
        return index < devices.size() ? devices.get(index) : hubs.get(index - devices.size());
    }

    /**
     * The machine as a group of its devices sees it: device {@code i} of the result is device {@code
     * group[i]} of this one. All hubs stay; links to devices outside the group go.
     *
     * @param group device indices, each once, in the wanted order of ranks
     * @throws IllegalArgumentException if an index is not one of a device, or named twice
     */
    public Machine subset(int... group) {
        int[] newIndex = new int[nodeCount()];
        Arrays.fill(newIndex, -1);
        List<Device> chosen = new ArrayList<>(group.length);
        for (int device : group) {
            if (device < 0 || device >= size()) {
                throw new IllegalArgumentException("no device " + device + " in " + name + "; " + describeIndices());
            }
            if (newIndex[device] >= 0) {
                throw new IllegalArgumentException("device " + device + " is named twice; name each device once");
            }
            newIndex[device] = chosen.size();
            chosen.add(devices.get(device));
        }
        for (int hub = 0; hub < hubs.size(); hub++) {
            newIndex[size() + hub] = chosen.size() + hub;
        }
        List<Link> kept = new ArrayList<>();
        for (Link link : links) {
            int a = newIndex[link.a()];
            int b = newIndex[link.b()];
            if (a >= 0 && b >= 0) {
                kept.add(new Link(a, b, link.kind(), link.lanes(), link.gbsAToB(), link.gbsBToA(), link.latencyUs()));
            }
        }
        List<Nic> cards = new ArrayList<>();
        for (Nic nic : nics) {
            cards.add(new Nic(nic.name(), nic.hub() < 0 ? -1 : newIndex[nic.hub()], nic.attributes()));
        }
        return new Machine(name, chosen, hubs, kept, cards, warnings, assumed);
    }

    private String describeIndices() {
        return devices.isEmpty() ? "it has no devices" : "its devices are 0.." + (size() - 1);
    }
}
