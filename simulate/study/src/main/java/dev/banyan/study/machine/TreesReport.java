package dev.banyan.study.machine;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import dev.banyan.study.text.Numbers;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import dev.banyan.trees.internal.render.ForestQuality;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LogicalLink;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Trees for a collective beside the bound, in the order of their JSON. Devices are ranks.
 *
 * @param machine the machine's name
 * @param devices number of devices
 * @param algorithm what built the trees
 * @param generationMs time that building them took, once and cold, in ms
 * @param trees the trees
 * @param busiestLinkLoad trees per GB/s on the busiest link; less is better. Of a packing: their number over
 *     its rate, which is the same where shares are equal
 * @param totalWeight sum of the weights of all trees
 * @param warnings what was odd about the machine, one sentence each
 * @param assumed speeds that the description leaves open
 * @param collective what the trees carry
 * @param rateGBs algbw in GB/s at which the busiest link is full
 * @param rate the same, exact
 * @param counted what the bound counts; absent where that is all that the machine has
 * @param boundGBs what no schedule over these links can exceed
 * @param bound the same, exact
 * @param ratio rate over bound
 * @param depth greatest number of edges between a root and a device
 * @param certificate why nothing can be faster than the bound
 * @param beyond greater limits, which count more; absent where the bound is what no schedule can exceed
 * @param forwarders nodes that take part only as forwarders; ranks are the nodes before them
 * @param paths of each ordered pair of ranks that is an edge of a tree but does not use the direct link alone
 * @param hint relays that would make an allreduce faster, if there are some and none were named
 * @param relays what was found with and without relays, where there are any; the better is what is shown
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record TreesReport(
        @JsonIgnore String machine,
        int devices,
        String algorithm,
        double generationMs,
        @JsonProperty("rows") List<TreeReport> trees,
        double busiestLinkLoad,
        double totalWeight,
        List<String> warnings,
        @JsonIgnore List<String> assumed,
        String collective,
        double rateGBs,
        String rate,
        @JsonInclude(JsonInclude.Include.NON_EMPTY) String counted,
        double boundGBs,
        String bound,
        double ratio,
        int depth,
        CertificateReport certificate,
        @JsonInclude(JsonInclude.Include.NON_EMPTY) List<Limit> beyond,
        List<Forwarder> forwarders,
        List<PathReport> paths,
        @Nullable String hint,
        @Nullable RelayReport relays) {
    /**
     * One tree.
     *
     * @param share its share of the data
     * @param levels level arrays, the root alone first
     * @param edges [parent, child]
     * @param weight sum of its links' weights, not penalised
     * @param exactShare its share as a fraction
     * @param upEdges [parent, child] of the tree that reductions go up, where it is another
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record TreeReport(
            int root,
            double share,
            List<int[]> levels,
            List<int[]> edges,
            double weight,
            String exactShare,
            @Nullable List<int[]> upEdges) {}

    /**
     * A node that only forwards.
     *
     * @param node its index, as paths name it
     * @param kind hub, relay or host
     */
    public record Forwarder(int node, String name, String kind) {}

    /** The paths of data from one rank to another. */
    public record PathReport(int from, int to, List<Route> ways) {}

    /**
     * One of several routes.
     *
     * @param share of what goes from the one rank to the other
     * @param nodes by index, both ranks included
     * @param names of these nodes
     */
    public record Route(double share, String exactShare, List<Integer> nodes, List<String> names) {}

    /**
     * The gain by relays.
     *
     * @param devices the relays, by their numbers in the whole machine
     * @param used whether the trees shown use them
     */
    public record RelayReport(
            List<Integer> devices,
            boolean used,
            double rateWithoutGBs,
            double boundWithoutGBs,
            double rateWithGBs,
            double boundWithGBs) {}

    /** Rates the trees of a plan. */
    public static TreesReport of(ChosenMachine chosen, PlannedTrees plan, List<String> warnings) {
        LinkMatrix links = chosen.links();
        TreePacking packing = plan.packing();
        Network network = packing.network();
        // The bound is that of the network that a packing would use, all links or not.
        Network counted = plan.packed() ? network : chosen.network();
        Forest forest = plan.forest();
        List<TreeReport> trees = new ArrayList<>();
        for (int i = 0; i < packing.trees().size(); i++) {
            PackedTree packed = packing.trees().get(i);
            Tree tree = forest.trees().get(i);
            trees.add(new TreeReport(
                    tree.root(),
                    forest.shares().get(i),
                    List.of(tree.levels()),
                    tree.edges(),
                    tree.weight(links),
                    Numbers.exact(packed.share()),
                    packed.up().equals(packed.down()) ? null : packed.up().edges()));
        }
        return new TreesReport(
                chosen.machine().name(),
                chosen.machine().size(),
                plan.algorithm(),
                plan.generationMs(),
                trees,
                plan.packed()
                        ? trees.size() / packing.rateGbs().doubleValue()
                        : ForestQuality.of(forest, links).busiestLinkLoad(),
                trees.stream().mapToDouble(TreeReport::weight).sum(),
                warnings,
                chosen.assumed(),
                plan.collective().label(),
                packing.rateGbs().doubleValue(),
                Numbers.exact(packing.rateGbs()),
                Limit.counted(counted, plan.collective()),
                packing.bound().gbs().doubleValue(),
                Numbers.exact(packing.bound().gbs()),
                packing.ratio().doubleValue(),
                packing.depth(),
                CertificateReport.of(packing.bound(), counted, plan.collective()),
                Limit.beyond(chosen, plan.relaysShown(), counted, plan.collective(), plan.root(), packing.bound()),
                forwarders(network),
                packing.links().stream().map(link -> path(link, network)).toList(),
                plan.relays().isEmpty()
                        ? RelayChoice.of(chosen)
                                .map(choice -> choice.hint("-a packing --relays"))
                                .orElse(null)
                        : null,
                relays(plan));
    }

    private static List<Forwarder> forwarders(Network network) {
        return IntStream.range(network.ranks(), network.nodes())
                .mapToObj(node -> new Forwarder(
                        node,
                        network.node(node).name(),
                        network.node(node).kind().name().toLowerCase(Locale.ROOT)))
                .toList();
    }

    private static PathReport path(LogicalLink link, Network network) {
        return new PathReport(
                link.from(),
                link.to(),
                link.paths().stream()
                        .map(path -> new Route(
                                path.share().doubleValue(),
                                Numbers.exact(path.share()),
                                path.nodes(),
                                path.nodes().stream()
                                        .map(node -> network.node(node).name())
                                        .toList()))
                        .toList());
    }

    private static @Nullable RelayReport relays(PlannedTrees plan) {
        TreePacking alone = plan.alone();
        TreePacking together = plan.together();
        if (alone == null || together == null) {
            return null;
        }
        return new RelayReport(
                plan.relays(),
                together.rateGbs().compareTo(alone.rateGbs()) > 0,
                alone.rateGbs().doubleValue(),
                alone.bound().gbs().doubleValue(),
                together.rateGbs().doubleValue(),
                together.bound().gbs().doubleValue());
    }
}
