package dev.banyan.page.study;

import dev.banyan.config.Config;
import dev.banyan.page.model.SetModel;
import dev.banyan.page.model.WayModel;
import dev.banyan.page.model.WayModel.TreeModel;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.compare.AlgorithmLoads;
import dev.banyan.study.machine.CertificateReport;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.Limit;
import dev.banyan.study.text.Numbers;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Tree;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.bound.Certificate;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.Direction;
import dev.banyan.trees.packing.LinkLoads;
import dev.banyan.trees.packing.LogicalLink;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Finds how fast an allreduce between some devices can be, and how the algorithms carry it. */
final class SetStudy {
    private final Machine machine;
    private final DrawnLinks links;
    private final ChosenMachine chosen;
    private final List<AlgorithmConfig> algorithms;
    private final Config config;
    /** Planners by the links between the devices: sets that are linked alike have the same trees. */
    private final Map<List<Double>, Planner> planners = new HashMap<>();

    SetStudy(ChosenMachine chosen, DrawnLinks links, List<AlgorithmConfig> algorithms, Config config) {
        this.chosen = chosen;
        machine = chosen.machine();
        this.links = links;
        this.algorithms = algorithms;
        this.config = config;
    }

    /** @param devices ascending, at least 2 */
    SetModel of(int... devices) {
        TreePacking packing = AllReducePacking.of(Network.of(machine, devices));
        List<WayModel> ways = new ArrayList<>();
        Planner planner = planner(devices);
        for (int algorithm = 0; algorithm < algorithms.size(); algorithm++) {
            ways.add(
                    algorithms.get(algorithm).algorithm() == AlgorithmChoice.PACKING
                            ? packed(algorithm, packing, devices)
                            : planned(algorithm, planner, devices));
        }
        return model(packing, devices, ways, relayed(packing, devices));
    }

    /** Returns a planner for all algorithms but packed trees, which depend on more than links between devices. */
    private Planner planner(int... devices) {
        Machine subset = machine.subset(devices);
        LinkMatrix matrix = LinkMatrix.of(subset);
        List<Double> pairs = new ArrayList<>();
        for (int from = 0; from < devices.length; from++) {
            for (int to = 0; to < devices.length; to++) {
                pairs.add((double) matrix.classOf(from, to));
                pairs.add(matrix.gbs(from, to));
            }
        }
        return planners.computeIfAbsent(pairs, _ -> Planner.ofNamed(subset, config));
    }

    private @Nullable SetModel relayed(TreePacking alone, int... devices) {
        int[] relays = IntStream.range(0, machine.size())
                .filter(device -> Arrays.binarySearch(devices, device) < 0)
                .toArray();
        if (relays.length == 0) {
            return null;
        }
        TreePacking packing = AllReducePacking.of(Network.of(machine, devices, relays));
        if (packing.rateGbs().compareTo(alone.rateGbs()) <= 0) {
            return null;
        }
        int algorithm = algorithms.indexOf(AlgorithmConfig.of(AlgorithmChoice.PACKING));
        return model(packing, devices, List.of(packed(algorithm, packing, devices)), null);
    }

    private SetModel model(TreePacking packing, int[] devices, List<WayModel> ways, @Nullable SetModel relayed) {
        Bound bound = packing.bound();
        Network network = packing.network();
        List<List<Integer>> parts = bound.certificate() instanceof Certificate.Partition partition
                ? partition.parts().stream()
                        .map(part -> part.stream().map(rank -> devices[rank]).toList())
                        .toList()
                : null;
        String counted = Limit.counted(network, Collective.ALL_REDUCE);
        List<String> beyond = beyond(network, bound);
        return new SetModel(
                Arrays.stream(devices).boxed().toList(),
                bound.gbs().doubleValue(),
                Numbers.exact(bound.gbs()),
                CertificateReport.of(bound, network, Collective.ALL_REDUCE).sentence(),
                counted.isEmpty() ? null : counted,
                beyond.isEmpty() ? null : beyond,
                parts,
                limit(bound.certificate(), network),
                ways,
                relayed);
    }

    /**
     * Returns the greater bounds of the same devices, one phrase each: of all devices those over further links, since
     * the page has the bound with reduction in switches elsewhere; of fewer devices only the latter, since the others
     * would take long for hundreds of sets.
     */
    private List<String> beyond(Network network, Bound bound) {
        List<Limit> limits = new ArrayList<>(Limit.reduced(network, Collective.ALL_REDUCE, bound));
        if (network.ranks() == machine.size()) {
            List<Limit> all = Limit.beyond(chosen, new int[0], network, Collective.ALL_REDUCE, -1, bound);
            limits = all.subList(limits.size(), all.size());
        }
        String all = network.leavesOutLinks() ? "all links, PCIe as well" : "all links";
        return limits.stream()
                .map(limit -> Numbers.gbs(limit.algbwGBs()) + " over "
                        + limit.counted().replace("all links", all))
                .toList();
    }

    /** The directed links that a certificate counts. */
    private List<Integer> limit(Certificate certificate, Network network) {
        return arcs(certificate, network)
                .map(arc -> links.ofArc(network, arc))
                .boxed()
                .toList();
    }

    private static IntStream arcs(Certificate certificate, Network network) {
        return switch (certificate) {
            case Certificate.Partition partition -> {
                int[] partOf = new int[network.ranks()];
                for (int part = 0; part < partition.parts().size(); part++) {
                    for (int rank : partition.parts().get(part)) {
                        partOf[rank] = part;
                    }
                }
                yield arcs(network).filter(arc -> partOf[network.from(arc)] != partOf[network.to(arc)]);
            }
            case Certificate.Cut cut -> {
                Set<Integer> inside = new HashSet<>(cut.nodes());
                yield arcs(network)
                        .filter(arc -> inside.contains(network.from(arc)) != cut.entering()
                                && inside.contains(network.to(arc)) == cut.entering());
            }
            case Certificate.Prices prices -> prices.prices().keySet().stream().mapToInt(Integer::intValue);
        };
    }

    private static IntStream arcs(Network network) {
        return IntStream.range(0, network.arcs());
    }

    private WayModel packed(int algorithm, TreePacking packing, int... devices) {
        LinkLoads loads = new LinkLoads(packing.network(), packing.links());
        loads.add(packing.trees(), Direction.UP_AND_DOWN);
        return way(algorithm, packing.network(), loads, packing.trees(), devices);
    }

    private WayModel planned(int algorithm, Planner planner, int... devices) {
        AlgorithmConfig choice = algorithms.get(algorithm);
        Network network = Network.ofAllLinks(machine, devices);
        LinkLoads loads = AlgorithmLoads.of(planner, choice, network);
        List<PackedTree> trees = choice.algorithm() == AlgorithmChoice.ONE_SHOT
                ? null
                : planner.trees(choice, Collective.ALL_REDUCE, -1);
        return way(algorithm, network, loads, trees, devices);
    }

    private WayModel way(
            int algorithm, Network network, LinkLoads loads, @Nullable List<PackedTree> trees, int... devices) {
        return new WayModel(
                algorithm,
                loads.rateGbs().doubleValue(),
                Numbers.exact(loads.rateGbs()),
                percents(network, loads),
                trees == null ? null : trees.stream().map(SetStudy::tree).toList(),
                paths(network, loads.links(), devices));
    }

    private static TreeModel tree(PackedTree tree) {
        return new TreeModel(
                Numbers.exact(tree.share()),
                parents(tree.up()),
                tree.up().equals(tree.down()) ? null : parents(tree.down()));
    }

    private static List<Integer> parents(Tree tree) {
        return IntStream.range(0, tree.size()).map(tree::parent).boxed().toList();
    }

    /** Triples of a link and the percents that are used of it, both ways. */
    private List<Double> percents(Network network, LinkLoads loads) {
        double rate = loads.rateGbs().doubleValue();
        double[] used = new double[2 * links.count()];
        for (int arc = 0; arc < network.arcs(); arc++) {
            used[links.ofArc(network, arc)] =
                    Math.rint(1000 * rate * loads.load(arc).doubleValue() / network.gbs(arc)) / 10;
        }
        return IntStream.range(0, links.count())
                .filter(link -> used[2 * link] + used[2 * link + 1] > 0)
                .boxed()
                .flatMap(link -> Stream.of((double) link, used[2 * link], used[2 * link + 1]))
                .toList();
    }

    /** The paths that differ from those of the machine. */
    private List<List<Integer>> paths(Network network, List<LogicalLink> used, int... devices) {
        List<List<Integer>> paths = new ArrayList<>();
        for (LogicalLink link : used) {
            List<Integer> ends = List.of(devices[link.from()], devices[link.to()]);
            for (LogicalLink.Path path : link.paths()) {
                List<Integer> drawn = links.path(network, path.nodes(), ends);
                if (link.paths().size() > 1 || !links.isUsual(drawn)) {
                    paths.add(drawn);
                }
            }
        }
        return paths;
    }
}
