package dev.banyan.simulate;

import dev.banyan.simulate.internal.rate.Clock;
import dev.banyan.trees.network.Detours;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LogicalLink;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A network as streams, flows and resources.
 *
 * <p>Stream {@code from x n + to} carries copies from one rank to another, stream {@code n x n + rank} the
 * kernels of a device. A stream has a flow for each path that carries its copies. A flow uses resources: the
 * arcs of its path, or the memory of its device, which is resource {@code arcs + rank}. Copies between ranks without
 * peer access also use, at both ranks, what a device sends and receives together through the host's memory: resource
 * {@code arcs + ranks + rank}. NVLinks and NVSwitches that join such ranks carry nothing between them where another
 * path is. The link to a socket from a hub that is two nodes, one on the way up and one on the way down, carries as
 * much less each way. Immutable.
 */
final class Wiring {
    final Network network;
    final int ranks;
    final int streams;
    /** First flow of each stream, and the end of the last; a stream without flows has no path. */
    final int[] flowStart;

    final int[] streamOfFlow;
    final double[] share;
    final long[] latency;
    final int[] pathStart;
    final int[] path;
    final double[] capacity;
    final double[] queueing;
    /** True if no other stream can ever use a resource of this one, nor two of its flows the same. */
    final boolean[] exclusive;
    /** Least capacity along a flow's path. */
    final double[] narrowest;

    private record Flow(double share, long latency, List<Integer> resources) {}

    Wiring(Network network, List<LogicalLink> links, Profile profile) {
        this.network = network;
        ranks = network.ranks();
        streams = ranks * ranks + ranks;
        capacity = new double[network.arcs() + 2 * ranks];
        queueing = new double[capacity.length];
        for (int arc = 0; arc < network.arcs(); arc++) {
            capacity[arc] = network.gbs(arc)
                    * profile.efficiency(network.kind(arc))
                    * (network.isSharedWayToHost(arc) ? profile.get(Constant.HOST_DUPLEX) : 1)
                    * Clock.BYTES_PER_TICK;
            queueing[arc] = profile.queueing(network.kind(arc));
        }
        int memories = network.arcs();
        Arrays.fill(capacity, memories, memories + ranks, profile.get(Constant.REDUCE_GBS) * Clock.BYTES_PER_TICK);
        for (int rank = 0; rank < ranks; rank++) {
            capacity[memories + ranks + rank] = 2 * profile.get(Constant.HOST_DUPLEX) * widestArcFrom(rank);
        }
        List<Flow> flows = new ArrayList<>();
        flowStart = new int[streams + 1];
        List<@Nullable LogicalLink> planned = new ArrayList<>();
        for (int pair = 0; pair < ranks * ranks; pair++) {
            planned.add(null);
        }
        for (LogicalLink link : links) {
            if (link.from() < 0 || link.from() >= ranks || link.to() < 0 || link.to() >= ranks) {
                throw new IllegalArgumentException("paths from rank " + link.from() + " to rank " + link.to()
                        + "; the ranks of " + network.name() + " are 0.." + (ranks - 1));
            }
            if (planned.set(link.from() * ranks + link.to(), link) != null) {
                throw new IllegalArgumentException("paths from rank " + link.from() + " to rank " + link.to()
                        + " are given twice; give all paths of a pair together");
            }
        }
        Detours detours = new Detours(network);
        for (int pair = 0; pair < ranks * ranks; pair++) {
            addPaths(pair, planned.get(pair), detours, profile, flows);
            flowStart[pair + 1] = flows.size();
        }
        for (int rank = 0; rank < ranks; rank++) {
            flows.add(new Flow(1, 0, List.of(network.arcs() + rank)));
            flowStart[ranks * ranks + rank + 1] = flows.size();
        }
        share = flows.stream().mapToDouble(Flow::share).toArray();
        latency = flows.stream().mapToLong(Flow::latency).toArray();
        path = flows.stream()
                .flatMap(flow -> flow.resources().stream())
                .mapToInt(Integer::intValue)
                .toArray();
        pathStart = new int[flows.size() + 1];
        for (int flow = 0; flow < flows.size(); flow++) {
            pathStart[flow + 1] = pathStart[flow] + flows.get(flow).resources().size();
        }
        streamOfFlow = new int[flows.size()];
        for (int stream = 0; stream < streams; stream++) {
            Arrays.fill(streamOfFlow, flowStart[stream], flowStart[stream + 1], stream);
        }
        int[] users = new int[capacity.length];
        for (int resource : path) {
            users[resource]++;
        }
        exclusive = new boolean[streams];
        for (int stream = 0; stream < streams; stream++) {
            exclusive[stream] = IntStream.range(pathStart[flowStart[stream]], pathStart[flowStart[stream + 1]])
                    .allMatch(entry -> users[path[entry]] == 1);
        }
        narrowest = IntStream.range(0, flows.size())
                .mapToDouble(flow -> flows.get(flow).resources().stream()
                        .mapToDouble(resource -> capacity[resource])
                        .min()
                        .orElseThrow())
                .toArray();
    }

    /** Returns the capacity of the widest arc from a rank that is no NVLink; infinity where there is none. */
    private double widestArcFrom(int rank) {
        return IntStream.range(network.firstOut(rank), network.firstOut(rank + 1))
                .filter(arc -> !network.kind(arc).isNvLinkClass())
                .mapToDouble(arc -> capacity[arc])
                .max()
                .orElse(Double.POSITIVE_INFINITY);
    }

    private void addPaths(int pair, @Nullable LogicalLink planned, Detours detours, Profile profile, List<Flow> flows) {
        int from = pair / ranks;
        int to = pair % ranks;
        if (planned != null) {
            for (LogicalLink.Path each : planned.paths()) {
                if (each.nodes().getFirst() != from || each.nodes().getLast() != to) {
                    throw new IllegalArgumentException(
                            "path " + each.nodes() + " does not lead from rank " + from + " to rank " + to);
                }
                flows.add(flow(each.share().doubleValue(), granted(each.nodes()), profile));
            }
        } else if (from != to) {
            List<Integer> usual = detours.path(from, to);
            if (usual != null) {
                flows.add(flow(1, granted(usual), profile));
            }
        }
    }

    /**
     * Returns a path, or the one without NVLinks if it is an NVLink, or leads through NVSwitches alone, between ranks
     * without peer access. Paths through other devices stay, as each of their hops has access.
     */
    private List<Integer> granted(List<Integer> nodes) {
        int from = nodes.getFirst();
        int to = nodes.getLast();
        int first = nodes.size() < 2 ? -1 : network.arc(from, nodes.get(1));
        boolean isRefused = first >= 0
                && network.kind(first).isNvLinkClass()
                && !network.grantsPeerAccess(from, to)
                && nodes.subList(1, nodes.size() - 1).stream()
                        .allMatch(node -> network.node(node).kind() == Network.Kind.HUB);
        // Such pairs are few, and most machines have none.
        List<Integer> around =
                isRefused ? new Detours(network, arc -> !network.kind(arc).isNvLinkClass()).path(from, to) : null;
        return around == null ? nodes : around;
    }

    private Flow flow(double share, List<Integer> nodes, Profile profile) {
        List<Integer> arcs = new ArrayList<>();
        double us = 0;
        for (int hop = 1; hop < nodes.size(); hop++) {
            int arc = network.arc(nodes.get(hop - 1), nodes.get(hop));
            if (arc < 0) {
                throw new IllegalArgumentException(
                        "path " + nodes + " takes an arc that " + network.name() + " has not");
            }
            arcs.add(arc);
            us += network.latencyUs(arc) + profile.hopUs(network.kind(arc));
        }
        if (arcs.isEmpty() || arcs.stream().distinct().count() < arcs.size()) {
            throw new IllegalArgumentException("path " + nodes + " has no hop, or the same one twice");
        }
        int from = nodes.getFirst();
        int to = nodes.getLast();
        if (!network.grantsPeerAccess(from, to)
                && arcs.stream().noneMatch(arc -> network.kind(arc).isNvLinkClass())) {
            arcs.add(network.arcs() + ranks + from);
            arcs.add(network.arcs() + ranks + to);
        }
        return new Flow(share, Clock.ofUs(Math.max(0, us)), arcs);
    }

    boolean isKernel(int stream) {
        return stream >= ranks * ranks;
    }

    int from(int stream) {
        return stream / ranks;
    }

    int to(int stream) {
        return isKernel(stream) ? stream - ranks * ranks : stream % ranks;
    }

    boolean hasPath(int stream) {
        return flowStart[stream] < flowStart[stream + 1];
    }
}
