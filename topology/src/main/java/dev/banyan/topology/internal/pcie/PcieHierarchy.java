package dev.banyan.topology.internal.pcie;

import dev.banyan.topology.Connection;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.Routes;
import dev.banyan.topology.internal.DisjointSets;
import dev.banyan.topology.internal.speed.CpuModel;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The PCIe hubs and links that explain how near the ends of a machine (devices and cards) are to each other in the
 * words of {@code nvidia-smi topo -m}.
 *
 * <p>PIX, PXB, PHB and NODE part the ends into nested groups: one switch, switches under one port, one host bridge,
 * one socket; SYS lies between sockets. Each group becomes a hub, so that {@link Routes} gives back the class of
 * each pair. Ends whose class is not known are put into one socket if their affinity is the same and no class says
 * SYS between them. Classes that no nesting explains give way to nearer ones; {@link #kind} returns the class that
 * came of it.
 *
 * <p>An uplink is as wide as the widest slot below it. Built in O(e^2) for e ends. Immutable and safe for use from
 * any thread.
 */
public final class PcieHierarchy {
    /** The assumption on devices of one socket whose class is not known, for instance because NVLink joins them. */
    public static final String HIDDEN =
            "a PCIe slot of its own for each GPU whose PCIe paths the description does not show";

    /** Classes that name a group, nearest first: one switch, one port, one host bridge, one socket. */
    private static final List<Connection.Kind> GROUPS =
            List.of(Connection.Kind.PIX, Connection.Kind.PXB, Connection.Kind.PHB, Connection.Kind.NODE);

    private final List<End> ends;
    private final int firstHub;
    private final CpuModel cpu;
    private final List<Hub> hubs = new ArrayList<>();
    private final List<Link> links = new ArrayList<>();
    private final int[] attachment;
    /** Per class that names a group, nearest first: per end, the first end of its group. */
    private final Map<Connection.Kind, int[]> groups = new EnumMap<>(Connection.Kind.class);

    private final Map<String, Integer> named = new HashMap<>();
    private final List<String> assumed = new ArrayList<>();

    /**
     * A device or a network card on PCIe.
     *
     * @param device index of the device, or -1 for a card, which gets no link of its own
     * @param affinity any text, empty where it is not known; ends of equal text are on one socket where nothing else
     *     is known, and on one CPU always
     * @param lanes width of its slot
     * @param gbs usable bandwidth of its slot in GB/s one way
     */
    public record End(int device, String affinity, int lanes, double gbs) {
        /** A full slot of PCIe gen3, the generation that NCCL assumes where none is known. */
        public static End assumed(int device, String affinity) {
            int lanes = LinkSpeeds.PCIE_LANES;
            return new End(device, affinity, lanes, lanes * LinkSpeeds.pcieLaneGbs(LinkSpeeds.PCIE_GEN3_GTS));
        }
    }

    /** Returns the distance class of two ends. */
    @FunctionalInterface
    public interface Classes {
        /**
         * The class of a pair, the same in both orders.
         *
         * @return PIX to SYS; anything else, or null, where the class is not known
         */
        Connection.@Nullable Kind between(int a, int b);
    }

    private record Width(int lanes, double gbs) {
        static final Width NONE = new Width(0, 0);

        Width widest(Width other) {
            return other.gbs > gbs ? other : this;
        }

        Width plus(Width other) {
            return new Width(lanes + other.lanes, gbs + other.gbs);
        }
    }

    private PcieHierarchy(
            List<End> ends, Classes classes, int firstHub, CpuModel cpu, ToDoubleFunction<CpuModel> socketGbs) {
        this.ends = List.copyOf(ends);
        this.firstHub = firstHub;
        this.cpu = cpu;
        attachment = new int[ends.size()];
        for (Connection.Kind kind : GROUPS) {
            DisjointSets sets = grouped(classes, kind);
            if (kind == Connection.Kind.NODE) {
                joinByAffinity(classes, sets);
            }
            groups.put(kind, IntStream.range(0, ends.size()).map(sets::find).toArray());
        }
        linkSockets(build(), socketGbs);
        if (hasHiddenPaths(classes)) {
            assumed.add(HIDDEN);
        }
    }

    /** Returns whether two devices of one socket may be nearer to each other than this hierarchy puts them. */
    private boolean hasHiddenPaths(Classes classes) {
        return IntStream.range(0, ends.size())
                .anyMatch(a -> IntStream.range(0, a)
                        .anyMatch(b -> ends.get(a).device >= 0 && ends.get(b).device >= 0 && isHidden(classes, a, b)));
    }

    /** An end that is nearer to one of two ends than to the other shows how far apart these are. */
    private boolean isHidden(Classes classes, int a, int b) {
        Connection.Kind kind = kind(a, b);
        return kind != Connection.Kind.PIX
                && kind != Connection.Kind.SYS
                && !isPcie(classes.between(a, b))
                && IntStream.range(0, ends.size())
                        .filter(end -> end != a && end != b)
                        .noneMatch(end -> isPcie(classes.between(a, end))
                                && isPcie(classes.between(b, end))
                                && classes.between(a, end) != classes.between(b, end));
    }

    /**
     * Finds the hierarchy of some ends.
     *
     * @param ends devices and cards, in the order in which {@code classes} numbers them
     * @param classes how near they are
     * @param firstHub node index of the first hub of the result
     * @param cpu the CPUs
     * @param socketGbs GB/s one way between two sockets of such CPUs; asked if there are several
     */
    public static PcieHierarchy of(
            List<End> ends, Classes classes, int firstHub, CpuModel cpu, ToDoubleFunction<CpuModel> socketGbs) {
        return new PcieHierarchy(ends, classes, firstHub, cpu, socketGbs);
    }

    /** The hubs, whose node indices begin at {@code firstHub}; sockets have the attributes of their CPU. */
    public List<Hub> hubs() {
        return hubs.stream()
                .map(hub -> hub.kind() == Hub.Kind.CPU_SOCKET ? new Hub(hub.name(), hub.kind(), cpu.attributes()) : hub)
                .toList();
    }

    /** PCIe links of devices and hubs, then those between sockets. */
    public List<Link> links() {
        return List.copyOf(links);
    }

    /** Node index of the hub that an end hangs on. */
    public int attachment(int end) {
        return attachment[end];
    }

    /** The class of a pair in this hierarchy: PIX to SYS, or SELF. */
    public Connection.Kind kind(int a, int b) {
        if (a == b) {
            return Connection.Kind.SELF;
        }
        for (Map.Entry<Connection.Kind, int[]> group : groups.entrySet()) {
            if (group.getValue()[a] == group.getValue()[b]) {
                return group.getKey();
            }
        }
        return Connection.Kind.SYS;
    }

    /** Returns the sockets, each with its ends. */
    private Map<Integer, List<Integer>> build() {
        Map<Integer, List<Integer>> sockets = new LinkedHashMap<>();
        for (List<Integer> inSocket :
                parts(IntStream.range(0, ends.size()).boxed().toList(), Connection.Kind.NODE)) {
            int socket = addHub("socket", Hub.Kind.CPU_SOCKET);
            sockets.put(socket, inSocket);
            List<List<Integer>> bridges = parts(inSocket, Connection.Kind.PHB);
            for (List<Integer> underBridge : bridges) {
                List<List<Integer>> ports = parts(underBridge, Connection.Kind.PXB);
                // A socket with one bridge stands for it, as in NCCL's files.
                int bridge = socket;
                if (bridges.size() > 1) {
                    bridge = addHub("bridge", Hub.Kind.HOST_BRIDGE);
                    links.add(insideSocket(bridge, socket, ports));
                }
                for (List<Integer> underPort : ports) {
                    hangPort(bridge, underPort);
                }
            }
        }
        return sockets;
    }

    /**
     * Links two CPUs by one link, the nodes of a CPU by links that narrow nothing, and sockets without devices to the
     * first with some: data between devices takes no way over a socket that is only known by a card.
     */
    private void linkSockets(Map<Integer, List<Integer>> sockets, ToDoubleFunction<CpuModel> socketGbs) {
        if (sockets.size() < 2) {
            return;
        }
        List<Integer> withDevices = new ArrayList<>();
        List<String> affinities = new ArrayList<>();
        sockets.forEach((socket, inSocket) -> inSocket.stream()
                .filter(end -> ends.get(end).device >= 0)
                .findFirst()
                .ifPresent(end -> {
                    withDevices.add(socket);
                    affinities.add(ends.get(end).affinity);
                }));
        List<List<Integer>> cpus = CpuNodes.byCpu(affinities, cpu.nodesOfSocket());
        for (List<Integer> nodes : cpus) {
            int first = withDevices.get(nodes.getFirst());
            for (int node : nodes.subList(1, nodes.size())) {
                int socket = withDevices.get(node);
                Width all = sockets.getOrDefault(socket, List.of()).stream()
                        .map(this::width)
                        .reduce(Width.NONE, Width::plus);
                links.add(Link.duplex(first, socket, Link.Kind.SOCKET, 1, all.gbs, 0));
            }
        }
        for (int a = 0; a < cpus.size(); a++) {
            for (int b = a + 1; b < cpus.size(); b++) {
                link(
                        withDevices.get(cpus.get(a).getFirst()),
                        withDevices.get(cpus.get(b).getFirst()),
                        socketGbs.applyAsDouble(cpu));
            }
        }
        int first = withDevices.isEmpty() ? sockets.keySet().iterator().next() : withDevices.getFirst();
        for (int socket : sockets.keySet()) {
            if (socket != first && !withDevices.contains(socket)) {
                link(first, socket, socketGbs.applyAsDouble(cpu));
            }
        }
        if (cpus.stream().anyMatch(nodes -> nodes.size() > 1)) {
            assumed.add(CpuNodes.assumption(affinities, cpu.nodesOfSocket()));
            nameNodes(sockets.keySet(), withDevices, CpuNodes.names(affinities));
        }
    }

    private void nameNodes(Set<Integer> sockets, List<Integer> withDevices, List<String> names) {
        for (int socket : sockets) {
            int node = withDevices.indexOf(socket);
            String name = node < 0 ? hubs.get(socket - firstHub).name().replace("socket", "cards") : names.get(node);
            hubs.set(socket - firstHub, Hub.of(name, Hub.Kind.CPU_SOCKET));
        }
    }

    private void link(int a, int b, double gbs) {
        links.add(Link.duplex(a, b, Link.Kind.SOCKET, 1, gbs, LinkSpeeds.SOCKET_US));
    }

    /** Returns what was assumed of the CPUs and of paths that no class shows, a phrase each. */
    public List<String> assumed() {
        return List.copyOf(assumed);
    }

    private void hangPort(int bridge, List<Integer> underPort) {
        List<List<Integer>> switches = parts(underPort, Connection.Kind.PIX);
        int port = bridge;
        if (switches.size() > 1) {
            port = addHub("switch", Hub.Kind.PCIE_SWITCH);
            links.add(pcie(port, bridge, widest(underPort)));
        }
        for (List<Integer> onSwitch : switches) {
            int hub = port;
            if (onSwitch.size() > 1 || switches.size() > 1) {
                hub = addHub("switch", Hub.Kind.PCIE_SWITCH);
                links.add(pcie(hub, port, widest(onSwitch)));
            }
            for (int end : onSwitch) {
                attachment[end] = hub;
                if (ends.get(end).device >= 0) {
                    links.add(pcie(ends.get(end).device, hub, width(end)));
                }
            }
        }
    }

    private Width width(int end) {
        return new Width(ends.get(end).lanes, ends.get(end).gbs);
    }

    private Width widest(List<Integer> some) {
        return some.stream().map(this::width).reduce(Width.NONE, Width::widest);
    }

    private static Link pcie(int a, int b, Width width) {
        return Link.duplex(a, b, Link.Kind.PCIE, width.lanes, width.gbs, LinkSpeeds.PCIE_US);
    }

    /** Inside a socket nothing narrows or delays what the slots of a bridge carry. */
    private Link insideSocket(int bridge, int socket, List<List<Integer>> ports) {
        Width all = ports.stream().map(this::widest).reduce(Width.NONE, Width::plus);
        return Link.duplex(bridge, socket, Link.Kind.PCIE, all.lanes, all.gbs, 0);
    }

    /** Adds a hub that is named by its kind and a number, in order of appearance. */
    private int addHub(String name, Hub.Kind kind) {
        hubs.add(Hub.of(name + (named.merge(name, 1, Integer::sum) - 1), kind));
        return firstHub + hubs.size() - 1;
    }

    /** Ends joined where a class is at most as far as {@code bound}. */
    private DisjointSets grouped(Classes classes, Connection.Kind bound) {
        int n = ends.size();
        DisjointSets sets = new DisjointSets(n);
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                Connection.Kind kind = classes.between(a, b);
                if (kind != null && isPcie(kind) && kind.compareTo(bound) <= 0) {
                    sets.union(a, b);
                }
            }
        }
        return sets;
    }

    private static boolean isPcie(Connection.@Nullable Kind kind) {
        return kind != null && kind.compareTo(Connection.Kind.PIX) >= 0 && kind.compareTo(Connection.Kind.SYS) <= 0;
    }

    /** The groups of a class among some ends. */
    private List<List<Integer>> parts(List<Integer> some, Connection.Kind kind) {
        int[] group = Objects.requireNonNull(groups.get(kind));
        Map<Integer, List<Integer>> parts = new LinkedHashMap<>();
        for (int end : some) {
            parts.computeIfAbsent(group[end], first -> new ArrayList<>()).add(end);
        }
        return new ArrayList<>(parts.values());
    }

    /** Joins the sockets of devices; cards have no affinity of their own. */
    private void joinByAffinity(Classes classes, DisjointSets node) {
        int n = ends.size();
        Map<Integer, Set<Integer>> apart = new HashMap<>();
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                if (a != b && classes.between(a, b) == Connection.Kind.SYS) {
                    apart.computeIfAbsent(node.find(a), root -> new HashSet<>()).add(node.find(b));
                }
            }
        }
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < i; j++) {
                if (ends.get(i).device < 0
                        || ends.get(j).device < 0
                        || !ends.get(i).affinity.equals(ends.get(j).affinity)) {
                    continue;
                }
                int a = node.find(i);
                int b = node.find(j);
                if (a == b || apart.getOrDefault(a, Set.of()).contains(b)) {
                    continue;
                }
                node.union(a, b);
                int joined = node.find(a);
                Set<Integer> others = new HashSet<>(apart.getOrDefault(a, Set.of()));
                others.addAll(apart.getOrDefault(b, Set.of()));
                apart.put(joined, others);
                for (int other : others) {
                    apart.computeIfAbsent(other, root -> new HashSet<>()).add(joined);
                }
            }
        }
    }
}
