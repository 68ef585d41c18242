package dev.banyan.topology.format;

import dev.banyan.topology.Connection;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Nic;
import dev.banyan.topology.Routes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jgrapht.alg.util.UnionFind;

/**
 * Builds the machine that a {@code topo -m} table describes. For one table; not reusable.
 *
 * <p><b>PCIe.</b> The classes PIX, PXB, PHB and NODE part GPUs and cards into nested groups: one switch,
 * switches under one port, one host bridge, one socket; SYS lies between sockets. Each group becomes a
 * hub, so that {@link Routes} gives back the printed class. NVLink hides the PCIe class of its pairs;
 * such GPUs are put together by the cards that they share, else into one socket if their NUMA node (or
 * CPU affinity) is the same and nothing says SYS between them.
 *
 * <p><b>NVLink.</b> NVk is the number of links of a pair, or of a device to the NVSwitches. The printed
 * class does not tell which; but no GPU has more than 18 links, and boards that link three or more GPUs
 * all to all without switches have at most 6 links per pair (4 A100: 4, 4 H100: 6). So a group of GPUs of
 * which one would need more than 18, or of three or more with the same NVk, k above 6, for all pairs, is
 * linked to NVSwitches: device by device, with as many lanes as its best pair shows. All other pairs are
 * direct.
 */
final class TopoMachine {
    private static final int MAX_LANES_PER_DEVICE = 18;
    private static final int MAX_LANES_TO_EACH_PEER = 6;
    private static final int MAX_LANES_NVLINK1 = 4;
    private static final Pattern NUMBER = Pattern.compile("\\d{1,6}");

    private final TopoTable table;
    private final List<Integer> gpus = new ArrayList<>();
    private final List<Integer> cards = new ArrayList<>();
    /** Per column of the table: device index, or the number of devices plus the card's index. */
    private final int[] endIndex;
    private final List<Device> devices = new ArrayList<>();
    private final List<Hub> hubs = new ArrayList<>();
    private final List<Link> links = new ArrayList<>();
    private final List<String> warnings;

    TopoMachine(TopoTable table) {
        this.table = table;
        warnings = new ArrayList<>(table.warnings());
        int ends = table.ends().size();
        for (int end = 0; end < ends; end++) {
            (table.isGpu(end) ? gpus : cards).add(end);
        }
        endIndex = new int[ends];
        for (int i = 0; i < ends; i++) {
            endIndex[i < gpus.size() ? gpus.get(i) : cards.get(i - gpus.size())] = i;
        }
    }

    Machine build(String name) {
        for (int end : gpus) {
            TopoTable.Row row = row(end);
            Map<String, String> attributes = new LinkedHashMap<>();
            if (!row.cpus().isEmpty()) {
                attributes.put(TopoTextWriter.CPU_AFFINITY, row.cpus());
            }
            boolean node = NUMBER.matcher(row.numa()).matches();
            if (!node && !row.numa().isEmpty()) {
                attributes.put(TopoTextWriter.NUMA_AFFINITY, row.numa());
            }
            devices.add(new Device(table.ends().get(end), null, node ? Integer.parseInt(row.numa()) : -1, attributes));
        }
        addNvLinks();
        int[] attachment = addPcie();
        List<Nic> nics = new ArrayList<>();
        for (int end : cards) {
            String label = table.ends().get(end);
            String known = table.cardNames().get(label);
            nics.add(new Nic(
                    known == null ? label : known,
                    attachment[end],
                    known == null ? Map.of() : Map.of("label", label)));
        }
        Machine machine = new Machine(name, devices, hubs, links, nics, warnings);
        List<String> all = new ArrayList<>(warnings);
        all.addAll(contradictions(machine));
        return new Machine(name, devices, hubs, links, nics, all);
    }

    private TopoTable.Row row(int end) {
        TopoTable.Row row = table.rows().get(end);
        if (row == null) {
            throw new IllegalArgumentException("table has no row of " + table.ends().get(end));
        }
        return row;
    }

    private int lanes(int a, int b) {
        return row(gpus.get(a)).cells().get(gpus.get(b)).lanes();
    }

    // NVLink.

    private void addNvLinks() {
        int n = devices.size();
        UnionFind<Integer> linked = new UnionFind<>(new LinkedHashSet<>());
        int most = 0;
        for (int a = 0; a < n; a++) {
            linked.addElement(a);
            int sum = 0;
            for (int b = 0; b < n; b++) {
                sum += lanes(a, b);
            }
            most = Math.max(most, sum);
        }
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                if (lanes(a, b) > 0) {
                    linked.union(a, b);
                }
            }
        }
        double laneGbs = table.oldDriver() && most <= MAX_LANES_NVLINK1
                ? LinkSpeeds.nvlinkLaneGbs(60)
                : AssumedLinks.NVLINK_LANE_GBS;
        Map<Integer, List<Integer>> groups = new LinkedHashMap<>();
        for (int a = 0; a < n; a++) {
            groups.computeIfAbsent(linked.find(a), root -> new ArrayList<>()).add(a);
        }
        for (List<Integer> group : groups.values()) {
            int[] ofDevice = switchLanes(group);
            if (ofDevice.length > 0) {
                int hub = addHub("NVSwitch", Hub.Kind.NVSWITCH);
                // Only DGX-2's V100 has so few; its switches are faster.
                double hopUs = LinkSpeeds.nvswitchUs(max(ofDevice) > MAX_LANES_TO_EACH_PEER ? 80 : 70);
                for (int i = 0; i < ofDevice.length; i++) {
                    links.add(Link.duplex(
                            group.get(i), hub, Link.Kind.NVLINK, ofDevice[i], ofDevice[i] * laneGbs, hopUs));
                }
            } else {
                addDirect(group, laneGbs);
            }
        }
    }

    private void addDirect(List<Integer> group, double laneGbs) {
        for (int i = 0; i < group.size(); i++) {
            for (int j = i + 1; j < group.size(); j++) {
                int count = lanes(group.get(i), group.get(j));
                if (count > 0) {
                    links.add(AssumedLinks.nvLink(group.get(i), group.get(j), count, laneGbs));
                }
            }
        }
    }

    /** Lanes to NVSwitches of each device of a group; empty where the pairs are linked directly. */
    private int[] switchLanes(List<Integer> group) {
        int m = group.size();
        int[] best = new int[m];
        int[] sum = new int[m];
        int least = Integer.MAX_VALUE;
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < m; j++) {
                if (i != j) {
                    int count = lanes(group.get(i), group.get(j));
                    best[i] = Math.max(best[i], count);
                    sum[i] += count;
                    least = Math.min(least, count);
                }
            }
        }
        int most = max(sum);
        int widest = max(best);
        boolean equal = m > 2 && least == widest;
        if (equal && widest == MAX_LANES_TO_EACH_PEER && most <= MAX_LANES_PER_DEVICE) {
            warnings.add("NV6 between all of " + devices.get(group.getFirst()).name() + ".."
                    + devices.get(group.getLast()).name() + " is read as direct links, as 4 H100 have; GPUs of a DGX-2"
                    + " that share 6 links each to NVSwitches look the same");
        }
        if (most <= MAX_LANES_PER_DEVICE && !(equal && widest > MAX_LANES_TO_EACH_PEER)) {
            return new int[0];
        }
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < m; j++) {
                if (i != j && lanes(group.get(i), group.get(j)) != Math.min(best[i], best[j])) {
                    warnings.add(devices.get(group.get(i)).name() + " shows " + sum[i] + " NVLinks, more than any GPU"
                            + " has, yet not as NVSwitches would: " + devices.get(group.get(j)).name()
                            + " differs; links are read as direct");
                    return new int[0];
                }
            }
        }
        return best;
    }

    private static int max(int[] counts) {
        return Arrays.stream(counts).max().orElse(0);
    }

    // PCIe.

    /** Adds the hubs and returns, per end, the node that it hangs on. */
    private int[] addPcie() {
        int n = table.ends().size();
        UnionFind<Integer> pix = grouped(Connection.Kind.PIX);
        UnionFind<Integer> pxb = grouped(Connection.Kind.PXB);
        UnionFind<Integer> phb = grouped(Connection.Kind.PHB);
        UnionFind<Integer> node = grouped(Connection.Kind.NODE);
        joinByAffinity(node);

        int[] attachment = new int[n];
        List<Integer> sockets = new ArrayList<>();
        Counter names = new Counter();
        for (List<Integer> inSocket : parts(all(n), node)) {
            int socket = addHub(names.next("socket"), Hub.Kind.CPU_SOCKET);
            sockets.add(socket);
            List<List<Integer>> bridges = parts(inSocket, phb);
            for (List<Integer> underBridge : bridges) {
                List<List<Integer>> ports = parts(underBridge, pxb);
                // A socket with one bridge stands for it, as in NCCL's files.
                int bridge = socket;
                if (bridges.size() > 1) {
                    bridge = addHub(names.next("bridge"), Hub.Kind.HOST_BRIDGE);
                    links.add(insideSocket(bridge, socket, ports.size()));
                }
                for (List<Integer> underPort : ports) {
                    List<List<Integer>> switches = parts(underPort, pix);
                    int port = bridge;
                    if (switches.size() > 1) {
                        port = addHub(names.next("switch"), Hub.Kind.PCIE_SWITCH);
                        links.add(AssumedLinks.pcie(port, bridge));
                    }
                    for (List<Integer> onSwitch : switches) {
                        int hub = port;
                        if (onSwitch.size() > 1 || switches.size() > 1) {
                            hub = addHub(names.next("switch"), Hub.Kind.PCIE_SWITCH);
                            links.add(AssumedLinks.pcie(hub, port));
                        }
                        for (int end : onSwitch) {
                            attachment[end] = hub;
                            if (table.isGpu(end)) {
                                links.add(AssumedLinks.pcie(endIndex[end], hub));
                            }
                        }
                    }
                }
            }
        }
        for (int i = 0; i < sockets.size(); i++) {
            for (int j = i + 1; j < sockets.size(); j++) {
                links.add(AssumedLinks.socket(sockets.get(i), sockets.get(j)));
            }
        }
        return attachment;
    }

    /** Inside a socket nothing narrows or delays what the slots of a bridge carry. */
    private static Link insideSocket(int bridge, int socket, int slots) {
        Link slot = AssumedLinks.pcie(bridge, socket);
        return Link.duplex(bridge, socket, slot.kind(), slots * slot.lanes(), slots * slot.gbsAToB(), 0);
    }

    private int addHub(String name, Hub.Kind kind) {
        hubs.add(Hub.of(name, kind));
        return devices.size() + hubs.size() - 1;
    }

    /** Numbers the hubs of a kind in order of appearance. */
    private static final class Counter {
        private final Map<String, Integer> next = new HashMap<>();

        String next(String kind) {
            return kind + (next.merge(kind, 1, Integer::sum) - 1);
        }
    }

    private static List<Integer> all(int n) {
        List<Integer> all = new ArrayList<>(n);
        for (int i = 0; i < n; i++) {
            all.add(i);
        }
        return all;
    }

    /** Ends joined where a PCIe class is at most as far as {@code bound}. */
    private UnionFind<Integer> grouped(Connection.Kind bound) {
        int n = table.ends().size();
        UnionFind<Integer> sets = new UnionFind<>(new LinkedHashSet<>(all(n)));
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                TopoCell cell = table.cell(a, b);
                if (cell != null && isPcie(cell.kind()) && cell.kind().compareTo(bound) <= 0) {
                    sets.union(a, b);
                }
            }
        }
        return sets;
    }

    private static boolean isPcie(Connection.Kind kind) {
        return kind.compareTo(Connection.Kind.PIX) >= 0 && kind.compareTo(Connection.Kind.SYS) <= 0;
    }

    private static List<List<Integer>> parts(List<Integer> ends, UnionFind<Integer> sets) {
        Map<Integer, List<Integer>> parts = new LinkedHashMap<>();
        for (int end : ends) {
            parts.computeIfAbsent(sets.find(end), root -> new ArrayList<>()).add(end);
        }
        return new ArrayList<>(parts.values());
    }

    private void joinByAffinity(UnionFind<Integer> sets) {
        Map<Integer, Set<Integer>> apart = new HashMap<>();
        int n = table.ends().size();
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                TopoCell cell = table.cell(a, b);
                if (cell != null && cell.kind() == Connection.Kind.SYS) {
                    apart.computeIfAbsent(sets.find(a), root -> new HashSet<>()).add(sets.find(b));
                }
            }
        }
        for (int i = 0; i < gpus.size(); i++) {
            for (int j = 0; j < i; j++) {
                int a = sets.find(gpus.get(i));
                int b = sets.find(gpus.get(j));
                if (a == b || !affinity(gpus.get(i)).equals(affinity(gpus.get(j)))
                        || apart.getOrDefault(a, Set.of()).contains(b)) {
                    continue;
                }
                sets.union(a, b);
                int joined = sets.find(a);
                Set<Integer> others = new HashSet<>(apart.getOrDefault(a, Set.of()));
                others.addAll(apart.getOrDefault(b, Set.of()));
                apart.put(joined, others);
                for (int other : others) {
                    apart.computeIfAbsent(other, root -> new HashSet<>()).add(joined);
                }
            }
        }
    }

    private String affinity(int gpu) {
        TopoTable.Row row = row(gpu);
        return row.numa().isEmpty() ? "cpus " + row.cpus() : "numa " + row.numa();
    }

    /** Classes that no nesting of hubs explains, such as A-B and B-C on one switch but A-C between sockets. */
    private List<String> contradictions(Machine machine) {
        Routes routes = Routes.of(machine);
        int count = 0;
        String example = "";
        for (int a = 0; a < endIndex.length; a++) {
            for (int b = 0; b < a; b++) {
                TopoCell cell = table.cell(a, b);
                Connection.Kind read = routes.between(endIndex[b], endIndex[a]).kind();
                if (cell != null && cell.kind() != read) {
                    if (count == 0) {
                        example = table.ends().get(b) + "-" + table.ends().get(a) + " is " + cell.kind()
                                + ", others make it " + read;
                    }
                    count++;
                }
            }
        }
        return count == 0
                ? List.of()
                : List.of("PCIe classes of " + count + " pairs contradict those of other pairs (" + example
                        + "); the nearer class is used");
    }
}
