package dev.banyan.topology;

import dev.banyan.topology.internal.DisjointSets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The nearest connection between any two ends of a machine. Ends are its devices (0..n-1) and then its
 * network cards (n..n+k-1, in the order of {@link Machine#nics()}).
 *
 * <p>Two devices with NVLink or xGMI between them, or with links to the same NVSwitches, are connected
 * by that: its lanes are the direct ones plus the smaller of the two counts into shared switches, its
 * bandwidth likewise. All others take the path of fewest hops through PCIe switches, host bridges and
 * CPU sockets, the widest of these where several are as short; its bandwidth is that of its narrowest
 * hop. The hubs on the path give its class:
 *
 * <table>
 * <caption>Class of a path</caption>
 * <tr><th>CPU sockets</th><th>host bridges</th><th>PCIe switches</th><th>class</th></tr>
 * <tr><td>2 or more</td><td>any</td><td>any</td><td>SYS</td></tr>
 * <tr><td>1</td><td>1 or more</td><td>any</td><td>NODE</td></tr>
 * <tr><td>1</td><td>0</td><td>any</td><td>PHB: the socket stands for its one bridge</td></tr>
 * <tr><td>0</td><td>2 or more</td><td>any</td><td>NODE</td></tr>
 * <tr><td>0</td><td>1</td><td>any</td><td>PHB</td></tr>
 * <tr><td>0</td><td>0</td><td>2 or more</td><td>PXB</td></tr>
 * <tr><td>0</td><td>0</td><td>0 or 1</td><td>PIX</td></tr>
 * </table>
 *
 * <p>Devices never forward. Built once in O(e (e + h + l)) for e ends, h hubs and l links; a look-up is
 * O(1). Immutable and safe for use from any thread.
 */
public final class Routes {
    private final int ends;
    private final Connection.Kind[] kinds;
    private final int[] lanes;
    private final double[] gbs;

    private Routes(int ends) {
        this.ends = ends;
        kinds = new Connection.Kind[ends * ends];
        lanes = new int[ends * ends];
        gbs = new double[ends * ends];
    }

    /** Finds the connections of a machine. */
    public static Routes of(Machine machine) {
        int devices = machine.size();
        Routes routes = new Routes(devices + machine.nics().size());
        routes.addPcie(machine);
        routes.addNvLinks(machine);
        return routes;
    }

    /**
     * The connection from one end to another.
     *
     * @param from device index, or the number of devices plus a card's index
     * @param to the same of the other end
     */
    public Connection between(int from, int to) {
        if (from < 0 || to < 0 || from >= ends || to >= ends) {
            throw new IndexOutOfBoundsException("ends " + from + "," + to + " of " + ends + " devices and cards");
        }
        int pair = from * ends + to;
        return new Connection(kinds[pair], lanes[pair], gbs[pair]);
    }

    private void addPcie(Machine machine) {
        PcieGraph graph = new PcieGraph(machine);
        for (int from = 0; from < ends; from++) {
            Arrays.fill(kinds, from * ends, (from + 1) * ends, Connection.Kind.NONE);
            graph.search(from);
            for (int to = 0; to < ends; to++) {
                if (to == from) {
                    kinds[from * ends + to] = Connection.Kind.SELF;
                } else if (graph.reached(to)) {
                    kinds[from * ends + to] = graph.kindTo(to);
                    gbs[from * ends + to] = graph.gbsTo(to);
                }
            }
        }
        // The two directions may take different, equally short paths: the lower index decides the class.
        for (int a = 0; a < ends; a++) {
            for (int b = 0; b < a; b++) {
                kinds[a * ends + b] = kinds[b * ends + a];
            }
        }
    }

    private void addNvLinks(Machine machine) {
        int devices = machine.size();
        int[] directLanes = new int[devices * devices];
        double[] directGbs = new double[devices * devices];
        SwitchFabrics fabrics = new SwitchFabrics(machine);
        for (Link link : machine.links()) {
            if (link.kind().isNvLinkClass() && link.a() < devices && link.b() < devices) {
                int pair = link.a() * devices + link.b();
                int back = link.b() * devices + link.a();
                directLanes[pair] += link.lanes();
                directLanes[back] += link.lanes();
                directGbs[pair] += link.gbsAToB();
                directGbs[back] += link.gbsBToA();
            }
        }
        for (int a = 0; a < devices; a++) {
            for (int b = 0; b < devices; b++) {
                if (a == b) {
                    continue;
                }
                int count = directLanes[a * devices + b] + fabrics.lanes(a, b);
                if (count > 0) {
                    int pair = a * ends + b;
                    kinds[pair] = Connection.Kind.NVLINK;
                    lanes[pair] = count;
                    gbs[pair] = directGbs[a * devices + b] + fabrics.gbs(a, b);
                }
            }
        }
    }

    /** NVSwitches joined into fabrics, and what each device has into each of them. */
    private static final class SwitchFabrics {
        private final int fabrics;
        /** By device and fabric. */
        private final double[][] lanes;

        private final double[][] out;
        private final double[][] in;

        SwitchFabrics(Machine machine) {
            int devices = machine.size();
            DisjointSets sets = new DisjointSets(machine.nodeCount());
            for (Link link : machine.links()) {
                if (isSwitch(machine, link.a()) && isSwitch(machine, link.b())) {
                    sets.union(link.a(), link.b());
                }
            }
            int[] fabricOf = new int[machine.nodeCount()];
            int count = 0;
            for (int node = devices; node < machine.nodeCount(); node++) {
                if (isSwitch(machine, node) && sets.find(node) == node) {
                    fabricOf[node] = count++;
                }
            }
            fabrics = count;
            lanes = new double[devices][fabrics];
            out = new double[devices][fabrics];
            in = new double[devices][fabrics];
            for (Link link : machine.links()) {
                int hub = Math.max(link.a(), link.b());
                int device = Math.min(link.a(), link.b());
                if (link.kind().isNvLinkClass() && device < devices && isSwitch(machine, hub)) {
                    int fabric = fabricOf[sets.find(hub)];
                    lanes[device][fabric] += link.lanes();
                    out[device][fabric] += link.gbsFrom(device);
                    in[device][fabric] += link.gbsFrom(hub);
                }
            }
        }

        private static boolean isSwitch(Machine machine, int node) {
            return machine.node(node) instanceof Hub hub && hub.kind() == Hub.Kind.NVSWITCH;
        }

        int lanes(int a, int b) {
            return (int) lesser(a, lanes, b, lanes);
        }

        double gbs(int a, int b) {
            return lesser(a, out, b, in);
        }

        /** The lesser of what two devices have into the fabrics that both reach. */
        private double lesser(int a, double[][] ofDeviceA, int b, double[][] ofDeviceB) {
            double sumOfA = 0;
            double sumOfB = 0;
            for (int fabric = 0; fabric < fabrics; fabric++) {
                if (lanes[a][fabric] > 0 && lanes[b][fabric] > 0) {
                    sumOfA += ofDeviceA[a][fabric];
                    sumOfB += ofDeviceB[b][fabric];
                }
            }
            return Math.min(sumOfA, sumOfB);
        }
    }

    /** Shortest, then widest, paths from one end at a time. */
    private static final class PcieGraph {
        private final Machine machine;
        private final int devices;
        private final int nodes;
        private final List<Map<Integer, Double>> neighbours = new ArrayList<>();
        private final int[] distance;
        private final double[] width;
        /** By node: the node before it on its path; -1 where the path begins. */
        private final int[] before;

        PcieGraph(Machine machine) {
            this.machine = machine;
            devices = machine.size();
            nodes = machine.nodeCount();
            int all = nodes + machine.nics().size();
            for (int i = 0; i < all; i++) {
                neighbours.add(new LinkedHashMap<>());
            }
            for (Link link : machine.links()) {
                if (carriesPcie(link)) {
                    neighbours.get(link.a()).merge(link.b(), link.gbsAToB(), Double::sum);
                    neighbours.get(link.b()).merge(link.a(), link.gbsBToA(), Double::sum);
                }
            }
            for (int i = 0; i < machine.nics().size(); i++) {
                int hub = machine.nics().get(i).hub();
                if (hub >= 0) {
                    // A card's own slot is not described; its hub's other links bound it.
                    neighbours.get(nodes + i).put(hub, Double.POSITIVE_INFINITY);
                    neighbours.get(hub).put(nodes + i, Double.POSITIVE_INFINITY);
                }
            }
            distance = new int[all];
            width = new double[all];
            before = new int[all];
        }

        /** Some hosts (Power) reach their devices over NVLink: any link to a forwarding hub counts. */
        private boolean carriesPcie(Link link) {
            if (link.a() < devices && link.b() < devices) {
                return !link.kind().isNvLinkClass();
            }
            return (link.a() < devices || forwards(link.a())) && (link.b() < devices || forwards(link.b()));
        }

        private boolean forwards(int node) {
            return node < nodes && machine.node(node) instanceof Hub hub && hub.kind() != Hub.Kind.NVSWITCH;
        }

        private int nodeOf(int end) {
            return end < devices ? end : end - devices + nodes;
        }

        void search(int end) {
            int start = nodeOf(end);
            Arrays.fill(distance, -1);
            distance[start] = 0;
            width[start] = Double.POSITIVE_INFINITY;
            before[start] = -1;
            ArrayDeque<Integer> queue = new ArrayDeque<>();
            queue.add(start);
            while (!queue.isEmpty()) {
                int u = queue.remove();
                if (u != start && !forwards(u)) {
                    continue;
                }
                for (Map.Entry<Integer, Double> edge : neighbours.get(u).entrySet()) {
                    int v = edge.getKey();
                    double through = Math.min(width[u], edge.getValue());
                    if (distance[v] < 0) {
                        distance[v] = distance[u] + 1;
                        queue.add(v);
                    } else if (distance[v] != distance[u] + 1 || through <= width[v]) {
                        continue;
                    }
                    width[v] = through;
                    before[v] = u;
                }
            }
        }

        boolean reached(int end) {
            return distance[nodeOf(end)] >= 0;
        }

        /** 0 where nothing but a card's unknown slot lies between. */
        double gbsTo(int end) {
            double found = width[nodeOf(end)];
            return Double.isInfinite(found) ? 0 : found;
        }

        Connection.Kind kindTo(int end) {
            int sockets = 0;
            int bridges = 0;
            int switches = 0;
            for (int node = before[nodeOf(end)]; node >= 0; node = before[node]) {
                if (node < nodes && machine.node(node) instanceof Hub hub) {
                    sockets += hub.kind() == Hub.Kind.CPU_SOCKET ? 1 : 0;
                    bridges += hub.kind() == Hub.Kind.HOST_BRIDGE ? 1 : 0;
                    switches += hub.kind() == Hub.Kind.PCIE_SWITCH ? 1 : 0;
                }
            }
            if (sockets > 1) {
                return Connection.Kind.SYS;
            }
            if (bridges > 1 || (sockets == 1 && bridges > 0)) {
                return Connection.Kind.NODE;
            }
            if (sockets + bridges == 1) {
                return Connection.Kind.PHB;
            }
            return switches > 1 ? Connection.Kind.PXB : Connection.Kind.PIX;
        }
    }
}
