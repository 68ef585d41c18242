package dev.banyan.cli.trees;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import dev.banyan.cli.compare.Limit;
import dev.banyan.cli.input.ChosenMachine;
import dev.banyan.cli.input.RelayChoice;
import dev.banyan.cli.output.Assumptions;
import dev.banyan.cli.output.CertificateReport;
import dev.banyan.cli.output.Numbers;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.ForestQuality;
import dev.banyan.trees.Tree;
import dev.banyan.trees.internal.render.LevelText;
import dev.banyan.trees.internal.render.TreeDrawing;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LogicalLink;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The report of {@code banyan trees}, in the order of its JSON. Devices are ranks.
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
record TreesReport(
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
    /** Pairs of one way through forwarders that are named one by one. */
    private static final int FEW_PAIRS = 12;

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
    record TreeReport(
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
    record Forwarder(int node, String name, String kind) {}

    /** The paths of data from one rank to another. */
    record PathReport(int from, int to, List<Route> ways) {}

    /**
     * One of several routes.
     *
     * @param share of what goes from the one rank to the other
     * @param nodes by index, both ranks included
     * @param names of these nodes
     */
    record Route(double share, String exactShare, List<Integer> nodes, List<String> names) {}

    /**
     * The gain by relays.
     *
     * @param devices the relays, by their numbers in the whole machine
     * @param used whether the trees shown use them
     */
    record RelayReport(
            List<Integer> devices,
            boolean used,
            double rateWithoutGBs,
            double boundWithoutGBs,
            double rateWithGBs,
            double boundWithGBs) {}

    static TreesReport of(ChosenMachine chosen, PlannedTrees plan, List<String> warnings) {
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
                chosen.machine().assumed(),
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
                        ? RelayChoice.of(chosen).map(RelayChoice::hint).orElse(null)
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

    void printTable(PrintWriter out, PlannedTrees plan) {
        String carried = plan.packed() ? " for " + collective : "";
        out.println(Numbers.format(
                "# %s: %d devices, %s%s, %d %s in %.2f ms",
                TerminalText.of(machine),
                devices,
                algorithm,
                carried,
                trees.size(),
                trees.size() == 1 ? "tree" : "trees",
                generationMs));
        if (!plan.names().isEmpty()) {
            out.println("# ranks: " + TerminalText.of(plan.names()));
        }
        Assumptions.line(assumed).ifPresent(line -> out.println("# " + line));
        if (plan.packed()) {
            printRate(out);
        }
        Forest forest = plan.forest();
        for (int i = 0; i < trees.size(); i++) {
            TreeReport tree = trees.get(i);
            PackedTree packed = plan.packing().trees().get(i);
            out.println("#");
            if (plan.packed()) {
                String share = tree.share == 1 ? "1" : Numbers.format("%s = %.3f", tree.exactShare, tree.share);
                out.println("# root " + tree.root + ", share " + share + ", " + Numbers.gbs(plan.gbs(packed.share())));
            } else {
                // Level arrays are for trees that are binary; weights for those that were built by weight.
                out.println(Numbers.format(
                        "# root %d, share %.3f, weight %s", tree.root, tree.share, Numbers.plain(tree.weight)));
                out.println(LevelText.of(forest.trees().get(i)));
            }
            out.println(TreeDrawing.of(forest.trees().get(i)).stripTrailing());
            if (plan.goesUp() && plan.goesDown() && tree.upEdges != null) {
                out.println("# and for the way up:");
                out.println(TreeDrawing.of(packed.up()).stripTrailing());
            }
        }
        out.println("#");
        if (plan.packed()) {
            printPaths(out);
        } else {
            out.println("# total weight: " + Numbers.plain(totalWeight));
            out.println(Numbers.format("# trees per GB/s on the busiest link: %.3f", busiestLinkLoad));
            printRate(out);
        }
    }

    private void printRate(PrintWriter out) {
        String what = counted.isEmpty() ? "" : " (" + counted + ")";
        out.println("# rate: " + Numbers.gbs(rateGBs) + " of at most " + Numbers.gbs(boundGBs) + what
                + Numbers.format(", ratio %.3f, depth %d", ratio, depth));
        out.println("# bound" + what + ": " + TerminalText.of(certificate.sentence()));
        beyond.forEach(limit -> out.println("# " + limit.sentence()));
        if (hint != null) {
            out.println("# hint: " + TerminalText.of(hint));
        }
        if (relays != null) {
            out.println("# relays "
                    + relays.devices().stream().map(Object::toString).collect(Collectors.joining(","))
                    + ": " + Numbers.gbs(relays.rateWithGBs()) + " with them, " + Numbers.gbs(relays.rateWithoutGBs())
                    + " without; shown: " + (relays.used() ? "with" : "without"));
        }
    }

    /** Prints the transfers through forwarders, by path. */
    private void printPaths(PrintWriter out) {
        Map<String, List<String>> pairs = new TreeMap<>();
        for (PathReport path : paths) {
            for (Route route : path.ways()) {
                List<String> through = route.names().subList(1, route.names().size() - 1);
                String share = path.ways().size() == 1 ? "" : " (" + route.exactShare() + ")";
                pairs.computeIfAbsent(
                                through.isEmpty() ? "over the direct link" : "through " + String.join(", ", through),
                                key -> new ArrayList<>())
                        .add(path.from() + ">" + path.to() + share);
            }
        }
        out.println(
                pairs.isEmpty()
                        ? "# all over direct links"
                        : "# ways other than the direct link alone, from rank > to rank (share of what goes there):");
        pairs.forEach((way, some) -> out.println("#   " + TerminalText.of(way) + ": "
                + (some.size() > FEW_PAIRS ? some.size() + " pairs" : String.join(" ", some))));
    }
}
