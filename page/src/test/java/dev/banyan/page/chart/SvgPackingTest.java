package dev.banyan.page.chart;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.topology.Device;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.bound.Certificate;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LinkLoads;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.RatedForest;
import dev.banyan.trees.packing.TreePacking;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

class SvgPackingTest {
    @ParameterizedTest
    @ValueSource(strings = {"p3.16xlarge", "dgx-2", "pcie-8", "mi250x8"})
    void everyPlaceIsInThePicture(String preset) throws Exception {
        Machine machine = Machine.preset(preset);
        TreePacking packing = kernighanLin(machine);
        String text = draw(packing);
        assertThat(draw(kernighanLin(machine))).isEqualTo(text);
        Document svg = parse(text);
        String[] box = svg.getDocumentElement().getAttribute("viewBox").split(" ", -1);
        double width = Double.parseDouble(box[2]);
        double height = Double.parseDouble(box[3]);
        for (String axis : List.of("x", "x1", "x2", "cx", "y", "y1", "y2", "cy")) {
            double most = axis.startsWith("x") || axis.equals("cx") ? width : height;
            assertThat(numbers(svg, axis)).as(axis).isNotEmpty().allMatch(at -> at >= 0 && at <= most);
        }
        int n = machine.size();
        assertThat(svg.getElementsByTagName("circle").getLength())
                .isEqualTo(n * (packing.trees().size() + 1));
        assertThat(texts(svg, "title").getFirst()).isEqualTo(preset + ": all_reduce over " + n + " trees");
        assertThat(texts(svg, "text")).contains("capacity used", "0%", "100%");
        assertThat(texts(svg, "text").stream().filter(label -> label.startsWith("root ")))
                .hasSize(n);
    }

    @Test
    @Tag("soak")
    void everyPlaceOfManySwitchesIsInThePicture() throws Exception {
        everyPlaceIsInThePicture("p2.16xlarge");
    }

    @Test
    void colourAndTooltipTellTheLoad() throws Exception {
        Machine path = direct(3, new int[] {0, 1, 40}, new int[] {1, 2, 20});
        TreePacking packing = packing(path, Tree.ofParents(1, -1, 1));
        Document svg = parse(draw(packing));
        assertThat(texts(svg, "title")).contains("GPU0 <-> GPU1: 50% of 40 GB/s", "GPU1 <-> GPU2: 100% of 20 GB/s");
        List<String> strokes = attributes(svg, "stroke");
        assertThat(strokes).contains("#f0b240", "#c02f3a");
    }

    /** GPU1 and GPU4 have a path through GPU5 alone, among p3.16xlarge's GPUs 0, 1, 2 and 4 with the relays 3 and 5. */
    @Test
    void treesAndLinksKeepClearOfRelaysThatTheyDoNotUse() throws Exception {
        Network network = Network.of(Machine.preset("p3.16xlarge"), new int[] {0, 1, 2, 4}, 3, 5);
        Document svg = parse(draw(AllReducePacking.of(network)));
        List<double[]> lines = elements(svg, "line").stream()
                .map(line -> Stream.of("x1", "y1", "x2", "y2")
                        .mapToDouble(end -> Double.parseDouble(line.getAttribute(end)))
                        .toArray())
                .toList();
        for (Element box : elements(svg, "rect").subList(1, 3)) {
            double x = Double.parseDouble(box.getAttribute("x")) + Double.parseDouble(box.getAttribute("width")) / 2;
            double y = Double.parseDouble(box.getAttribute("y")) + 11;
            assertThat(lines.stream().filter(line -> distance(line, x, y) < 40))
                    .isNotEmpty()
                    .allMatch(line ->
                            Math.min(Math.hypot(line[0] - x, line[1] - y), Math.hypot(line[2] - x, line[3] - y)) < 1);
        }
        List<Element> trees = elements(svg, "line").stream()
                .filter(line -> line.hasAttribute("stroke-dasharray"))
                .toList();
        List<List<String>> links = elements(svg, "line").stream()
                .filter(line -> line.getAttribute("stroke").equals("#e4e7eb"))
                .map(SvgPackingTest::ends)
                .toList();
        assertThat(trees)
                .hasSizeGreaterThan(9)
                .allSatisfy(line -> assertThat(ends(line)).isIn(links));
    }

    /** Both ends of a line, whatever its direction. */
    private static List<String> ends(Element line) {
        return Stream.of("1", "2")
                .map(end -> line.getAttribute("x" + end) + "," + line.getAttribute("y" + end))
                .sorted()
                .toList();
    }

    private static double distance(double[] line, double x, double y) {
        double dx = line[2] - line[0];
        double dy = line[3] - line[1];
        double along = ((x - line[0]) * dx + (y - line[1]) * dy) / (dx * dx + dy * dy);
        double part = Math.clamp(along, 0, 1);
        return Math.hypot(line[0] + part * dx - x, line[1] + part * dy - y);
    }

    /** Names come out of files: markup, quotes, and characters that XML can't hold. */
    @Test
    void namesAreEscaped() throws Exception {
        String name = "G<&>\"'\u001b\ud83d\ude00";
        Machine machine = new Machine(
                "box <script>",
                List.of(Device.named(name), Device.named("\ud800")),
                List.of(),
                List.of(Link.duplex(0, 1, Link.Kind.NVLINK, 1, 25, 1)),
                List.of(),
                List.of());
        Document svg = parse(draw(packing(machine, Tree.ofParents(-1, 0))));
        assertThat(texts(svg, "title")).contains("box <script>: all_reduce over 1 tree", "G<&>\"'?\ud83d\ude00", "?");
    }

    /** A broadcast loads one way only: two lines, the other one free. */
    @Test
    void unevenLoadsAreDrawnEachWay() throws Exception {
        Machine pair = direct(2, new int[] {0, 1, 25});
        Network network = Network.of(pair);
        PackedTree tree = PackedTree.of(BigFraction.ONE, Tree.ofParents(-1, 0));
        Bound bound = new Bound(BigFraction.of(25), new Certificate.Cut(List.of(0), false));
        TreePacking packing = new TreePacking(network, List.of(tree), BigFraction.of(25), bound, List.of());
        LinkLoads loads = new LinkLoads(network);
        loads.addDown(BigFraction.ONE, tree.down());
        Document svg = parse(SvgPacking.of(packing, loads, "broadcast"));
        assertThat(texts(svg, "title")).contains("GPU0 -> GPU1: 100% of 25 GB/s", "GPU1 -> GPU0: 0% of 25 GB/s");
    }

    /** NVLinks between devices, each {a, b, GB/s both ways}. */
    private static Machine direct(int devices, int[]... links) {
        return new Machine(
                "direct",
                IntStream.range(0, devices)
                        .mapToObj(i -> Device.named("GPU" + i))
                        .toList(),
                List.of(),
                Stream.of(links)
                        .map(link -> Link.duplex(link[0], link[1], Link.Kind.NVLINK, 1, link[2], 1))
                        .toList(),
                List.of(),
                List.of());
    }

    private static TreePacking kernighanLin(Machine machine) {
        LinkMatrix links = LinkMatrix.of(machine);
        Forest forest = new KernighanLin()
                .generate(links, IntStream.range(0, links.size()).toArray());
        Network network = Network.of(machine);
        Bound bound = new Bound(BigFraction.of(1000), new Certificate.Cut(List.of(0), false));
        return RatedForest.of(PackedTree.of(forest), network, bound).orElseThrow();
    }

    private static TreePacking packing(Machine machine, Tree tree) {
        Bound bound = new Bound(BigFraction.of(1000), new Certificate.Cut(List.of(0), false));
        return RatedForest.of(PackedTree.of(Forest.equalShares(List.of(tree))), Network.of(machine), bound)
                .orElseThrow();
    }

    private static String draw(TreePacking packing) {
        LinkLoads loads = new LinkLoads(packing.network(), packing.links());
        for (PackedTree tree : packing.trees()) {
            loads.addUp(tree.share(), tree.up());
            loads.addDown(tree.share(), tree.down());
        }
        return SvgPacking.of(packing, loads, "all_reduce");
    }

    private static Document parse(String text) throws Exception {
        return DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(text)));
    }

    private static List<Element> elements(Document svg, String name) {
        NodeList nodes = svg.getElementsByTagName(name);
        List<Element> elements = new ArrayList<>();
        for (int i = 0; i < nodes.getLength(); i++) {
            elements.add((Element) nodes.item(i));
        }
        return elements;
    }

    private static List<String> texts(Document svg, String name) {
        return elements(svg, name).stream().map(Element::getTextContent).toList();
    }

    private static List<String> attributes(Document svg, String name) {
        return elements(svg, "*").stream()
                .map(element -> element.getAttribute(name))
                .filter(value -> !value.isEmpty())
                .toList();
    }

    private static List<Double> numbers(Document svg, String name) {
        return attributes(svg, name).stream().map(Double::valueOf).toList();
    }
}
