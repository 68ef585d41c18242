package dev.banyan.page.study;

import dev.banyan.page.drawing.MachineDrawing;
import dev.banyan.page.drawing.Point;
import dev.banyan.page.model.MachineModel;
import dev.banyan.page.model.MachineModel.LinkModel;
import dev.banyan.page.model.MachineModel.NodeModel;
import dev.banyan.study.text.AssumptionText;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Node;
import dev.banyan.trees.network.Detours;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The links of a machine as a page numbers and draws them. */
final class DrawnLinks {
    private final Machine machine;
    private final Network network;
    private final boolean hasHost;
    private final MachineDrawing drawing;
    private final List<LinkModel> links = new ArrayList<>();
    /** By the nodes that it leaves and enters. */
    private final Map<List<Integer>, Integer> directed = new HashMap<>();
    /** By the devices that have no direct link. */
    private final Map<List<Integer>, List<Integer>> usual = new LinkedHashMap<>();

    DrawnLinks(Machine machine) {
        this.machine = machine;
        network = Network.ofAllLinks(machine, IntStream.range(0, machine.size()).toArray());
        hasHost = IntStream.range(0, network.nodes())
                .anyMatch(node -> network.node(node).machineNode() < 0);
        drawing = new MachineDrawing(machine, hasHost);
        pairs().forEach(this::add);
        findPaths();
    }

    /**
     * The model of the machine.
     *
     * @param assumed the assumptions to show
     * @param remarks those on links
     */
    MachineModel model(List<String> assumed, List<String> remarks) {
        return new MachineModel(
                machine.name(),
                machine.size(),
                MachineDrawing.WIDTH,
                MachineDrawing.HEIGHT,
                nodes(),
                List.copyOf(links),
                AssumptionText.of(assumed).orElse(null),
                remarks,
                List.copyOf(usual.values()));
    }

    private Map<List<Integer>, List<Link>> pairs() {
        Map<List<Integer>, List<Link>> pairs = new TreeMap<>(
                Comparator.comparingInt((List<Integer> pair) -> pair.get(0)).thenComparingInt(pair -> pair.get(1)));
        List<Link> all = new ArrayList<>(machine.links());
        if (hasHost) {
            // A set of devices may stage through the host's memory what the whole machine does not.
            IntStream.range(0, machine.size())
                    .mapToObj(device ->
                            Link.duplex(device, machine.nodeCount(), Link.Kind.PCIE, 1, LinkMatrix.HOST_STAGED_GBS, 0))
                    .forEach(all::add);
        }
        all.removeIf(link -> !drawing.isDrawn(link.a()) || !drawing.isDrawn(link.b()));
        for (Link link : all) {
            List<Integer> pair = List.of(Math.min(link.a(), link.b()), Math.max(link.a(), link.b()));
            pairs.computeIfAbsent(pair, ends -> new ArrayList<>()).add(link);
        }
        return pairs;
    }

    private void add(List<Integer> pair, List<Link> between) {
        int a = pair.get(0);
        int b = pair.get(1);
        Map<String, Double> widths = new LinkedHashMap<>();
        double aToB = 0;
        double bToA = 0;
        for (Link link : between) {
            aToB += link.gbsFrom(a);
            bToA += link.gbsFrom(b);
            widths.merge(kind(link), link.gbsAToB() + link.gbsBToA(), Double::sum);
        }
        String kind = widths.entrySet().stream()
                .max(Map.Entry.comparingByValue())
                .orElseThrow()
                .getKey();
        int lanes = between.stream()
                .filter(link -> kind(link).equals(kind))
                .mapToInt(Link::lanes)
                .sum();
        directed.put(List.of(a, b), 2 * links.size());
        directed.put(List.of(b, a), 2 * links.size() + 1);
        links.add(new LinkModel(
                a,
                b,
                kind,
                lanes,
                aToB,
                bToA,
                drawing.line(a, b).stream()
                        .flatMap(point -> Stream.of(rounded(point.x()), rounded(point.y())))
                        .toList()));
    }

    /** A host bridge is a part of its CPU; only links between the NUMA nodes of one CPU delay nothing. */
    private String kind(Link link) {
        boolean insideCpu = switch (link.kind()) {
            case SOCKET -> link.latencyUs() == 0;
            case PCIE ->
                (isHub(link.a(), Hub.Kind.HOST_BRIDGE) && isHub(link.b(), Hub.Kind.CPU_SOCKET))
                        || (isHub(link.b(), Hub.Kind.HOST_BRIDGE) && isHub(link.a(), Hub.Kind.CPU_SOCKET));
            default -> false;
        };
        return insideCpu ? "cpu" : link.kind().name().toLowerCase(Locale.ROOT);
    }

    private boolean isHub(int node, Hub.Kind kind) {
        return node < machine.nodeCount() && machine.node(node) instanceof Hub hub && hub.kind() == kind;
    }

    private static double rounded(double pixels) {
        return Math.rint(pixels * 10) / 10;
    }

    private List<NodeModel> nodes() {
        List<NodeModel> nodes = new ArrayList<>();
        for (int node = 0; node < machine.nodeCount(); node++) {
            String kind = drawing.isDrawn(node) ? kind(machine.node(node)) : "unused";
            nodes.add(node(machine.node(node).name(), kind, drawing.at(node)));
        }
        if (hasHost) {
            nodes.add(node("host memory", "host memory", drawing.at(machine.nodeCount())));
        }
        return nodes;
    }

    private static NodeModel node(String name, String kind, Point at) {
        return new NodeModel(name, kind, rounded(at.x()), rounded(at.y()));
    }

    private static String kind(Node node) {
        return switch (node) {
            case Device _ -> "gpu";
            case Hub hub -> hub.kind().name().toLowerCase(Locale.ROOT).replace('_', ' ');
        };
    }

    /** The usual paths between devices that have no direct link. */
    private void findPaths() {
        Detours detours = new Detours(network);
        for (int from = 0; from < machine.size(); from++) {
            for (int to = 0; to < machine.size(); to++) {
                List<Integer> nodes = from == to ? null : detours.path(from, to);
                if (nodes != null && nodes.size() > 2) {
                    usual.put(List.of(from, to), path(network, nodes, List.of(from, to)));
                }
            }
        }
    }

    /** Number of pairs of nodes that are linked. */
    int count() {
        return links.size();
    }

    /** Returns whether a path is the one that the model of the machine has for its devices. */
    boolean isUsual(List<Integer> path) {
        return path.equals(usual.get(path.subList(0, 2)));
    }

    /** Index of the directed link that an arc of a network of this machine stands for. */
    int ofArc(Network over, int arc) {
        return between(nodeOf(over, over.from(arc)), nodeOf(over, over.to(arc)));
    }

    /**
     * A path as a page has it: its two devices, and then the directed links.
     *
     * @param nodes nodes of the network
     * @param ends indices of the devices on the page
     */
    List<Integer> path(Network over, List<Integer> nodes, List<Integer> ends) {
        List<Integer> path = new ArrayList<>(ends);
        for (int hop = 1; hop < nodes.size(); hop++) {
            path.add(between(nodeOf(over, nodes.get(hop - 1)), nodeOf(over, nodes.get(hop))));
        }
        return path;
    }

    private int between(int from, int to) {
        Integer link = directed.get(List.of(from, to));
        if (link == null) {
            throw new IllegalStateException("no link from node " + from + " to node " + to + " of " + machine.name());
        }
        return link;
    }

    private int nodeOf(Network over, int node) {
        int found = over.node(node).machineNode();
        return found < 0 ? machine.nodeCount() : found;
    }
}
