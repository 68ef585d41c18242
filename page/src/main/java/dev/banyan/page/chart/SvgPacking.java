package dev.banyan.page.chart;

import dev.banyan.trees.Tree;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LinkLoads;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Draws a packing as SVG: the machine with its links coloured by how much of their capacity is used at the
 * packing's rate, and below it every tree, its root marked and its share written beside it.
 */
public final class SvgPacking {
    private static final double WIDTH = 960;
    private static final double MARGIN = 24;
    private static final double MACHINE_RADIUS = 190;
    private static final double MACHINE_HEIGHT = 2 * MACHINE_RADIUS + 70;
    private static final double HEADER = 70;
    private static final double CELL_WIDTH = 152;
    private static final double CELL_HEIGHT = 178;
    private static final double TREE_RADIUS = 56;
    private static final int COLUMNS = 6;
    /** Characters of small print that fit into the width. */
    private static final int LINE = 120;

    private static final String INK = "#1f2933";
    private static final String SOFT = "#52606d";
    private static final String FAINT = "#e4e7eb";
    /** Colours of Okabe and Ito, which people with any colour vision can tell apart. */
    private static final List<String> TREE_COLOURS =
            List.of("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#5b4b8a");

    private final TreePacking packing;
    private final Network network;
    private final LinkLoads loads;
    private final SvgWriter svg;
    private final long widest;

    private SvgPacking(TreePacking packing, LinkLoads loads, String carried) {
        this.packing = packing;
        this.loads = loads;
        network = packing.network();
        widest = IntStream.range(0, network.arcs())
                .mapToLong(network::capacity)
                .max()
                .orElse(1);
        int rows = (packing.trees().size() + COLUMNS - 1) / COLUMNS;
        String title = network.name() + ": " + carried + " over "
                + trees(packing.trees().size());
        svg = new SvgWriter(
                WIDTH,
                HEADER + MACHINE_HEIGHT + rows * CELL_HEIGHT + MARGIN,
                title,
                "Links between " + network.ranks()
                        + " devices, coloured by the share of their capacity that is used, and"
                        + " the trees that use them. " + rate());
        svg.add("<text x='24' y='38' font-size='22' font-weight='600' fill='%s'>%s</text>", INK, title);
        svg.add("<text x='24' y='62' font-size='14' fill='%s'>%s</text>", SOFT, rate());
        String names = names();
        if (!names.isEmpty() && names.length() <= LINE) {
            svg.add("<text x='24' y='82' font-size='14' fill='%s'>%s</text>", SOFT, names);
        }
    }

    /** Returns the names of the ranks, unless their number identifies them. */
    private String names() {
        List<String> names = IntStream.range(0, network.ranks())
                .filter(rank -> !network.node(rank).name().equals("GPU" + rank))
                .mapToObj(rank -> rank + " is " + network.node(rank).name())
                .toList();
        return String.join(", ", names);
    }

    /**
     * A drawing of a packing; a whole SVG document. The same packing gives the same text every time.
     *
     * @param loads how much of the data crosses each arc of the packing's network
     * @param carried what the packing carries, e.g. {@code all_reduce}
     */
    public static String of(TreePacking packing, LinkLoads loads, String carried) {
        SvgPacking drawing = new SvgPacking(packing, loads, carried);
        drawing.machine();
        drawing.legend();
        for (int i = 0; i < packing.trees().size(); i++) {
            drawing.tree(i);
        }
        return drawing.svg.finish();
    }

    private String rate() {
        return String.format(
                Locale.ROOT,
                "%s of at most %s GB/s (ratio %.3f), depth %d",
                decimals(packing.rateGbs()),
                decimals(packing.bound().gbs()),
                packing.ratio().doubleValue(),
                packing.depth());
    }

    private static String trees(int count) {
        return count == 1 ? "1 tree" : count + " trees";
    }

    private static String decimals(BigFraction value) {
        return String.format(Locale.ROOT, "%.2f", value.doubleValue()).replaceFirst("\\.?0+$", "");
    }

    private void machine() {
        Point centre = new Point(WIDTH / 2, HEADER + MACHINE_HEIGHT / 2);
        NetworkLayout layout = new NetworkLayout(network, centre, MACHINE_RADIUS, 80);
        svg.add("<g stroke-linecap='round'>");
        // Full links are drawn last, on top.
        IntStream.range(0, network.arcs())
                .filter(arc -> network.from(arc) < network.to(arc) || network.reverse(arc) < 0)
                .boxed()
                .sorted((a, b) -> Double.compare(used(a), used(b)))
                .forEach(arc -> link(arc, layout));
        svg.add("</g>");
        for (int node = network.ranks(); node < network.nodes(); node++) {
            forwarder(node, layout.at(node));
        }
        double radius = Math.min(17, 2.6 * MACHINE_RADIUS / network.ranks());
        for (int rank = 0; rank < network.ranks(); rank++) {
            device(
                    rank,
                    layout.at(rank),
                    radius,
                    "#ffffff",
                    INK,
                    network.node(rank).name());
        }
    }

    /** An arc and the one the other way: one line where they are alike, else a line each. */
    private void link(int arc, NetworkLayout layout) {
        Point from = layout.at(network.from(arc));
        Point to = layout.at(network.to(arc));
        int back = network.reverse(arc);
        boolean alike = back >= 0
                && network.capacity(arc) == network.capacity(back)
                && loads.load(arc).equals(loads.load(back));
        double width = width(arc);
        if (alike) {
            stroke(from, to, arc, width, describe(arc, "<->"));
            return;
        }
        double length = Math.max(1, from.distance(to));
        double apart = (width + (back < 0 ? 0 : width(back))) / 4 + 1;
        double dx = (to.y() - from.y()) / length * apart;
        double dy = (from.x() - to.x()) / length * apart;
        stroke(from.plus(dx, dy), to.plus(dx, dy), arc, width / 2 + 0.5, describe(arc, "->"));
        if (back >= 0) {
            stroke(from.plus(-dx, -dy), to.plus(-dx, -dy), back, width(back) / 2 + 0.5, describe(back, "->"));
        }
    }

    private double width(int arc) {
        return 2 + 5.0 * network.capacity(arc) / widest;
    }

    private void stroke(Point from, Point to, int arc, double width, String tooltip) {
        svg.add("<g stroke='%s' stroke-width='%s'>", colour(used(arc)), width);
        svg.add("<title>%s</title>", tooltip);
        svg.line(from, to, "");
        svg.add("</g>");
    }

    private String describe(int arc, String arrow) {
        return String.format(
                Locale.ROOT,
                "%s %s %s: %.0f%% of %s GB/s",
                network.node(network.from(arc)).name(),
                arrow,
                network.node(network.to(arc)).name(),
                100 * used(arc),
                SvgWriter.number(network.gbs(arc)));
    }

    /** Share of an arc's capacity that is used at the packing's rate, 0..1. */
    private double used(int arc) {
        BigFraction units = loads.load(arc).multiply(packing.rateGbs()).divide(network.unitGbs());
        return Math.min(1, units.divide(network.capacity(arc)).doubleValue());
    }

    /** From pale blue (free) over amber to red (full). */
    private static String colour(double used) {
        return used < 0.5 ? mix(0xb9c7d6, 0xf0b240, 2 * used) : mix(0xf0b240, 0xc02f3a, 2 * used - 1);
    }

    private static String mix(int from, int to, double part) {
        int mixed = 0;
        for (int shift = 16; shift >= 0; shift -= 8) {
            double a = from >> shift & 0xff;
            double b = to >> shift & 0xff;
            mixed = mixed << 8 | (int) Math.round(a + (b - a) * part);
        }
        return String.format(Locale.ROOT, "#%06x", mixed);
    }

    private void device(int rank, Point at, double radius, String fill, String ink, String tooltip) {
        svg.add("<g>");
        svg.add("<title>%s</title>", tooltip);
        double line = Math.max(0.8, radius / 11);
        svg.add(
                "<circle cx='%s' cy='%s' r='%s' fill='%s' stroke='%s' stroke-width='%s'/>",
                at.x(), at.y(), radius, fill, INK, line);
        label(Integer.toString(rank), at, radius, ink, "600");
        svg.add("</g>");
    }

    private void label(String text, Point at, double size, String ink, String weight) {
        svg.add(
                "<text x='%s' y='%s' text-anchor='middle' font-size='%s' font-weight='%s' fill='%s'>%s</text>",
                at.x(), at.y() + 0.35 * size, size, weight, ink, text);
    }

    private void forwarder(int node, Point at) {
        Network.Node what = network.node(node);
        double width = 6.2 * what.name().length() + 14;
        boolean relay = isRelay(node);
        svg.add(
                "<rect x='%s' y='%s' width='%s' height='22' rx='%s' fill='#f5f7fa' stroke='%s' stroke-width='1.2'"
                        + " stroke-dasharray='%s'/>",
                at.x() - width / 2, at.y() - 11, width, relay ? "11" : "4", SOFT, relay ? "3 2" : "none");
        label(what.name(), at, 11, INK, "400");
    }

    private void legend() {
        double x = MARGIN;
        double y = HEADER + MACHINE_HEIGHT - 62;
        svg.add("<defs>");
        svg.add("<linearGradient id='load'>");
        for (int percent = 0; percent <= 100; percent += 50) {
            svg.add("<stop offset='%s%%' stop-color='%s'/>", percent, colour(percent / 100.0));
        }
        svg.add("</linearGradient>");
        svg.add("</defs>");
        text("capacity used", x, y - 8);
        svg.add("<rect x='%s' y='%s' width='150' height='10' rx='2' fill='url(#load)'/>", x, y);
        text("0%", x, y + 25);
        text("100%", x + 122, y + 25);
        text("wider links are drawn wider", x, y + 45);
    }

    private void text(String text, double x, double y) {
        svg.add("<text x='%s' y='%s' font-size='12' fill='%s'>%s</text>", x, y, SOFT, text);
    }

    private void tree(int index) {
        PackedTree packed = packing.trees().get(index);
        int column = index % COLUMNS;
        int row = index / COLUMNS;
        double left = MARGIN + column * CELL_WIDTH;
        double top = HEADER + MACHINE_HEIGHT + row * CELL_HEIGHT;
        Point centre = new Point(left + CELL_WIDTH / 2, top + 22 + TREE_RADIUS);
        NetworkLayout layout = new NetworkLayout(network, centre, TREE_RADIUS, 0);
        String colour = TREE_COLOURS.get(index % TREE_COLOURS.size());
        svg.add("<g stroke-linecap='round'>");
        for (int arc = 0; arc < network.arcs(); arc++) {
            if (network.from(arc) < network.to(arc)) {
                svg.line(layout.at(network.from(arc)), layout.at(network.to(arc)), " stroke='%s'", FAINT);
            }
        }
        edges(packed.down(), layout, colour, "none");
        if (!packed.up().equals(packed.down())) {
            edges(packed.up(), layout, colour, "2 4");
        }
        for (int node = network.ranks(); node < network.nodes(); node++) {
            if (isRelay(node)) {
                Point at = layout.at(node);
                svg.add("<circle cx='%s' cy='%s' r='3' fill='#f5f7fa' stroke='%s'/>", at.x(), at.y(), SOFT);
            }
        }
        double radius = Math.min(8, 2.4 * TREE_RADIUS / network.ranks());
        for (int rank = 0; rank < network.ranks(); rank++) {
            boolean root = rank == packed.root();
            device(
                    rank,
                    layout.at(rank),
                    root ? 1.3 * radius : radius,
                    root ? colour : "#ffffff",
                    root ? "#ffffff" : INK,
                    network.node(rank).name());
        }
        String share = "root " + packed.root() + ", share " + fraction(packed.share());
        String rate = decimals(packed.share().multiply(packing.rateGbs())) + " GB/s, depth " + packed.depth();
        double y = centre.y() + TREE_RADIUS;
        caption(share, centre.x(), y + 28, 12, INK);
        caption(rate, centre.x(), y + 44, 11, SOFT);
        svg.add("</g>");
    }

    private void caption(String text, double x, double y, int size, String ink) {
        String template = "<text x='%s' y='%s' text-anchor='middle' font-size='%s' fill='%s'>%s</text>";
        svg.add(template, x, y, size, ink, text);
    }

    /** The share as it is, where that is short to write. */
    private static String fraction(BigFraction share) {
        String exact = share.toString().replace(" ", "");
        return exact.length() <= 7 ? exact : String.format(Locale.ROOT, "%.2f%%", 100 * share.doubleValue());
    }

    /** Thick at the root, thinner with every level. What goes through relays is drawn along the links to them. */
    private void edges(Tree tree, NetworkLayout layout, String colour, String dashes) {
        int[] depth = new int[tree.size()];
        for (int[] edge : tree.edges()) {
            depth[edge[1]] = depth[edge[0]] + 1;
            double width = 1.2 + 2.6 / depth[edge[1]];
            for (List<Integer> way : ways(edge[0], edge[1])) {
                for (int i = 1; i < way.size(); i++) {
                    svg.line(
                            layout.at(way.get(i - 1)),
                            layout.at(way.get(i)),
                            " stroke='%s' stroke-width='%s' stroke-dasharray='%s'",
                            colour,
                            width,
                            dashes);
                }
            }
        }
    }

    /** The ranks and relays on each way between two ranks; hubs are left out. */
    private Set<List<Integer>> ways(int parent, int child) {
        Set<List<Integer>> ways = packing.links().stream()
                .filter(link ->
                        (link.from() == parent && link.to() == child) || (link.from() == child && link.to() == parent))
                .limit(1)
                .flatMap(link -> link.paths().stream())
                .map(path -> path.nodes().stream()
                        .filter(node -> node < network.ranks() || isRelay(node))
                        .toList())
                .collect(Collectors.toCollection(LinkedHashSet::new));
        return ways.isEmpty() ? Set.of(List.of(parent, child)) : ways;
    }

    private boolean isRelay(int node) {
        return network.node(node).kind() == Network.Kind.RELAY;
    }
}
