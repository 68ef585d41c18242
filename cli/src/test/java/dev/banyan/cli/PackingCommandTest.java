package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.xml.sax.InputSource;

/** {@code banyan trees --algorithm packing}: what it prints must add up. */
class PackingCommandTest {
    private static final List<String> FIELDS =
            List.of("devices", "algorithm", "generationMs", "rows", "busiestLinkLoad", "totalWeight", "warnings");

    /** Rates known from the machines' links. */
    @ParameterizedTest
    @CsvSource({
        "p3.16xlarge, all_reduce, 600/7",
        "dgx-1p, all_reduce, 320/7",
        "dgx-2, all_reduce, 80",
        "p3.16xlarge, broadcast, 150",
        "p3.16xlarge, reduce, 150",
        "dgx-a100, all_gather, 2400/7",
        "dgx-a100, reduce_scatter, 2400/7",
        "pcie-4, all_reduce, 8",
    })
    void jsonHasRateBoundAndCertificate(String machine, String collective, String rate) throws Exception {
        JsonNode report = json("--machine " + machine + " --collective " + collective);
        assertThat(names(report)).containsSubsequence(FIELDS);
        assertThat(names(report))
                .contains("collective", "rateGBs", "boundGBs", "ratio", "depth", "certificate", "forwarders", "paths");
        assertThat(report.get("collective").asText()).isEqualTo(collective);
        assertThat(fraction(report.get("rate"))).isEqualTo(BigFraction.parse(rate.contains("/") ? rate : rate + "/1"));
        assertThat(report.get("rateGBs").asDouble())
                .isCloseTo(fraction(report.get("rate")).doubleValue(), within(1e-9));
        assertThat(report.get("bound").asText()).isEqualTo(report.get("rate").asText());
        assertThat(report.get("ratio").asDouble()).isEqualTo(1);
        assertThat(report.get("certificate").get("kind").asText()).isIn("partition", "cut", "prices");
        assertThat(report.get("certificate").get("sentence").asText()).contains("GB/s");
        BigFraction shares = BigFraction.ZERO;
        int deepest = 0;
        for (JsonNode tree : report.get("rows")) {
            assertThat(names(tree)).startsWith("root", "share", "levels", "edges", "weight");
            shares = shares.add(fraction(tree.get("exactShare")));
            deepest = Math.max(deepest, depthOf(tree, report.get("devices").asInt()));
        }
        assertThat(shares).isEqualTo(BigFraction.ONE);
        assertThat(report.get("depth").asInt()).isEqualTo(deepest);
    }

    /** Recomputed from what is printed alone: no link carries more than it can, and the partition is as tight. */
    @Test
    void printedTreesFillTheLinksAndThePrintedPartitionAllowsNoMore() throws Exception {
        int[] lanes = new int[64];
        int[][] links = {
            {0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {1, 2, 2}, {1, 3, 1}, {2, 3, 2}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2},
            {5, 6, 2}, {5, 7, 1}, {6, 7, 2}, {0, 4, 2}, {1, 5, 2}, {2, 6, 1}, {3, 7, 1},
        };
        for (int[] link : links) {
            lanes[link[0] * 8 + link[1]] = link[2];
        }
        JsonNode report = json("--machine p3.16xlarge");
        BigFraction rate = fraction(report.get("rate"));
        BigFraction[] load = new BigFraction[64];
        Arrays.fill(load, BigFraction.ZERO);
        for (JsonNode tree : report.get("rows")) {
            for (JsonNode edge : tree.get("edges")) {
                int a = Math.min(edge.get(0).asInt(), edge.get(1).asInt());
                int b = Math.max(edge.get(0).asInt(), edge.get(1).asInt());
                load[a * 8 + b] = load[a * 8 + b].add(fraction(tree.get("exactShare")));
            }
        }
        for (int pair = 0; pair < 64; pair++) {
            assertThat(load[pair].multiply(rate)).isLessThanOrEqualTo(BigFraction.of(25L * lanes[pair]));
        }
        JsonNode parts = report.get("certificate").get("parts");
        int[] part = new int[8];
        for (int i = 0; i < parts.size(); i++) {
            for (JsonNode rank : parts.get(i)) {
                part[rank.asInt()] = i;
            }
        }
        long crossing = Arrays.stream(links)
                .filter(link -> part[link[0]] != part[link[1]])
                .mapToLong(link -> 25L * link[2])
                .sum();
        assertThat(BigFraction.of(crossing, parts.size() - 1)).isEqualTo(rate);
    }

    @Test
    void pathsLeadFromRankToRankThroughForwarders() throws Exception {
        JsonNode report = json("--machine pcie-4");
        int ranks = report.get("devices").asInt();
        assertThat(report.get("forwarders")).isNotEmpty();
        assertThat(report.get("paths")).isNotEmpty();
        for (JsonNode path : report.get("paths")) {
            BigFraction shares = BigFraction.ZERO;
            for (JsonNode way : path.get("ways")) {
                JsonNode nodes = way.get("nodes");
                assertThat(nodes.get(0)).isEqualTo(path.get("from"));
                assertThat(nodes.get(nodes.size() - 1)).isEqualTo(path.get("to"));
                assertThat(way.get("names")).hasSize(nodes.size());
                for (int i = 1; i < nodes.size() - 1; i++) {
                    JsonNode forwarder =
                            report.get("forwarders").get(nodes.get(i).asInt() - ranks);
                    assertThat(forwarder.get("name")).isEqualTo(way.get("names").get(i));
                    assertThat(forwarder.get("kind").asText())
                            .isEqualTo(forwarder.get("name").asText().startsWith("CPU") ? "socket" : "hub");
                }
                shares = shares.add(fraction(way.get("exactShare")));
            }
            assertThat(shares).isEqualTo(BigFraction.ONE);
        }
    }

    @Test
    void maxTreesIsKept() throws Exception {
        JsonNode one = json("--machine p3.8xlarge --max-trees 1");
        assertThat(one.get("rows")).hasSize(1);
        assertThat(one.get("ratio").asDouble()).isLessThan(1);
        JsonNode perRoot = json("--machine p3.8xlarge --collective all_gather --max-trees 1");
        assertThat(perRoot.get("rows")).hasSize(4);
    }

    @Test
    void rootIsThatOfTheBroadcastAndTheFirstByDefault() throws Exception {
        for (JsonNode tree :
                json("--machine dgx-1p --collective broadcast --root 5").get("rows")) {
            assertThat(tree.get("root").asInt()).isEqualTo(5);
        }
        for (JsonNode tree : json("--machine dgx-1p --collective reduce").get("rows")) {
            assertThat(tree.get("root").asInt()).isZero();
        }
    }

    @Test
    void relaysAreComparedWithNone() throws Exception {
        JsonNode report = json("--machine p3.16xlarge --devices 0,1,2,4 --relays others");
        JsonNode relays = report.get("relays");
        assertThat(relays.get("devices").toString()).isEqualTo("[3,5,6,7]");
        assertThat(relays.get("used").asBoolean()).isTrue();
        assertThat(relays.get("rateWithoutGBs").asDouble()).isEqualTo(50);
        assertThat(relays.get("rateWithGBs").asDouble()).isEqualTo(100);
        assertThat(report.get("rateGBs").asDouble()).isEqualTo(100);
        assertThat(report.get("forwarders").get(0).get("kind").asText()).isEqualTo("relay");
        String table = CommandRun.of("trees -a packing --machine p3.16xlarge --devices 0,1,2,4 --relays 3,5-7")
                .out();
        assertThat(table)
                .contains(
                        "# ranks: 0 is device 0, 1 is device 1, 2 is device 2, 3 is device 4",
                        "# relays 3,5,6,7: 100 GB/s with them, 50 GB/s without; shown: with",
                        "through GPU3");
        JsonNode useless = json("--machine p3.16xlarge --devices 0,1,2,3 --relays 7");
        assertThat(useless.get("relays").get("used").asBoolean()).isFalse();
        assertThat(useless.get("forwarders")).isEmpty();
    }

    @Test
    void tableTellsWhatWasFound() {
        CommandRun run = CommandRun.of("trees --machine dgx-2 --algorithm packing");
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out())
                .startsWith("# dgx-2: 16 devices, packing for all_reduce, 16 trees in ")
                .contains(
                        "# rate: 80 GB/s of at most 80 GB/s (NVLink), ratio 1.000, depth 1",
                        "# bound (NVLink): limited by the links of all 16 GPUs to NVSwitch: each GPU has 150 GB/s each"
                            + " way and must send and receive 15/8 bytes on average for each byte of data: 150 * 8/15"
                            + " = 80 GB/s",
                        "# bound (all links): ",
                        "# root 15, share 1/16 = 0.063, 5 GB/s",
                        "through NVSwitch: 240 pairs");
        assertThat(CommandRun.of("trees --machine p3.8xlarge -a packing").out()).contains("# all over direct links");
    }

    /** 8 trees of 1/8 each; the double links are the busiest. */
    @Test
    void otherAlgorithmsAreRatedToo() throws Exception {
        JsonNode report =
                CommandRun.of("trees --machine p3.16xlarge --format json").json();
        double rate = report.get("rateGBs").asDouble();
        assertThat(report.get("boundGBs").asDouble()).isCloseTo(600 / 7.0, within(1e-9));
        assertThat(report.get("ratio").asDouble()).isCloseTo(rate * 7 / 600, within(1e-9));
        assertThat(rate).isCloseTo(8 / report.get("busiestLinkLoad").asDouble(), within(1e-9));
        assertThat(report.get("certificate").get("kind").asText()).isEqualTo("partition");
        assertThat(report.get("paths")).isEmpty();
        assertThat(CommandRun.of("trees --machine p3.16xlarge").out())
                .contains("# rate: ", " GB/s of at most 85.714 GB/s (NVLink), ratio 0.");
        JsonNode pcie = CommandRun.of("trees --machine pcie-4 --format json").json();
        assertThat(pcie.get("ratio").asDouble()).isBetween(0.1, 1.0);
        assertThat(pcie.get("paths")).isNotEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--machine p3.16xlarge -a packing",
                "--machine p3.16xlarge",
                "--machine pcie-4 -a packing --collective broadcast",
                "--machine p3.16xlarge -a packing --devices 0,1,2,4 --relays 3",
            })
    void svgIsADrawingAndNothingElse(String options) throws Exception {
        CommandRun run = CommandRun.of("trees --format svg " + options);
        assertThat(run.status()).as(run.err()).isZero();
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        var root = factory.newDocumentBuilder()
                .parse(new InputSource(new StringReader(run.out())))
                .getDocumentElement();
        assertThat(root.getTagName()).isEqualTo("svg");
        assertThat(CommandRun.of("trees --format svg " + options).out()).isEqualTo(run.out());
    }

    @Test
    void svgSaysWhichDeviceARankIsWhereItIsAnother() {
        String options = "trees -a packing --format svg --machine p3.16xlarge --devices ";
        assertThat(CommandRun.of(options + "0,1,2,4 --relays 3,5").out()).contains(">3 is GPU4<", ">GPU3<");
        assertThat(CommandRun.of(options + "2,1,0").out()).contains(">0 is GPU2, 2 is GPU0<");
        assertThat(CommandRun.of(options + "0-2").out()).doesNotContain(" is GPU");
    }

    private static JsonNode json(String options) throws Exception {
        CommandRun run = CommandRun.of("trees --algorithm packing --format json " + options);
        assertThat(run.status()).as(run.err()).isZero();
        return run.json();
    }

    private static BigFraction fraction(JsonNode text) {
        return BigFraction.parse(text.asText().contains("/") ? text.asText() : text.asText() + "/1");
    }

    /** Every rank but the root once as a child; its depth by edges alone. */
    private static int depthOf(JsonNode tree, int devices) {
        int[] depth = new int[devices];
        Arrays.fill(depth, -1);
        depth[tree.get("root").asInt()] = 0;
        int deepest = 0;
        for (JsonNode edge : tree.get("edges")) {
            int parent = edge.get(0).asInt();
            int child = edge.get(1).asInt();
            assertThat(depth[parent]).isNotNegative();
            assertThat(depth[child]).isNegative();
            depth[child] = depth[parent] + 1;
            deepest = Math.max(deepest, depth[child]);
        }
        assertThat(tree.get("edges")).hasSize(devices - 1);
        return deepest;
    }

    private static List<String> names(JsonNode object) {
        List<String> names = new ArrayList<>();
        object.fieldNames().forEachRemaining(names::add);
        return names;
    }
}
