package dev.banyan.page;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.banyan.page.model.Curve;
import dev.banyan.page.model.PageModel;
import dev.banyan.page.model.Playback;
import dev.banyan.page.model.SetModel;
import dev.banyan.page.model.WayModel;
import dev.banyan.topology.Device;
import dev.banyan.topology.Machine;
import dev.banyan.trees.bound.AllReduceBound;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class MachinePageTest {
    private static final Pattern MODEL =
            Pattern.compile("<script type=\"application/json\" id=\"model\">(.*?)</script>", Pattern.DOTALL);
    private static final long MOST_BYTES = 1_500_000;
    private static final Machine MACHINE = Machine.preset("p3.16xlarge");

    private static PageModel model;
    private static String html;

    @BeforeAll
    static void makePage() {
        model = Pages.model("p3.16xlarge");
        html = MachinePage.html(model);
    }

    @Test
    void pageIsOneFileWithTheLicenceOfItsLibrary() {
        assertThat(html.getBytes(StandardCharsets.UTF_8).length).isLessThan((int) MOST_BYTES);
        assertThat(html)
                .doesNotContain(" src=")
                .doesNotContain("<link")
                .doesNotContain("@import")
                .doesNotContain("{{")
                .as("all is drawn before the load event, when a browser takes its screenshot")
                .doesNotContain("await ")
                .contains("uPlot", "The MIT License (MIT)", "Leon Sorokin");
    }

    @Test
    void modelKeepsTextThatLooksLikeHtml() throws IOException {
        JsonNode json = json();
        assertThat(json.get("steps").get(0).get("workload").asText()).isEqualTo(Pages.SMALL);
    }

    @Test
    void numbersKeepEightDigits() throws IOException {
        JsonNode whole = json().get("sets").get("sets").get(0);
        assertThat(whole.get("bound").asDouble()).isEqualTo(85.714286);
        assertThat(whole.get("exact").asText()).isEqualTo("600/7");
    }

    private static JsonNode json() throws IOException {
        Matcher found = MODEL.matcher(html);
        assertThat(found.find()).isTrue();
        return new ObjectMapper().readTree(found.group(1));
    }

    @Test
    void boundsOfAllSetsAreThoseOfTheirNetworks() {
        assertThat(model.sets().sets()).hasSize(247).allSatisfy(set -> {
            Network network = Network.of(MACHINE, devices(set));
            double bound = AllReduceBound.applies(network)
                    ? AllReduceBound.of(network).gbs().doubleValue()
                    : AllReducePacking.of(network).bound().gbs().doubleValue();
            assertThat(set.bound()).isEqualTo(bound);
            assertThat(set.ways()).hasSize(model.algorithms().size());
            assertThat(set.ways()).allSatisfy(way -> checkLoads(way, set));
            SetModel relayed = set.relayed();
            if (relayed != null) {
                assertThat(relayed.ways().getFirst().rate())
                        .isGreaterThan(set.ways().getFirst().rate());
                checkLoads(relayed.ways().getFirst(), relayed);
            }
        });
    }

    private static int[] devices(SetModel set) {
        return set.devices().stream().mapToInt(Integer::intValue).toArray();
    }

    /** At its rate, an algorithm fills its busiest link and no link more than that. */
    private static void checkLoads(WayModel way, SetModel set) {
        double most = IntStream.range(0, way.load().size())
                .filter(i -> i % 3 != 0)
                .mapToDouble(i -> way.load().get(i))
                .max()
                .orElseThrow();
        assertThat(most)
                .as("greatest load of %s on %s", way.algorithm(), set.devices())
                .isCloseTo(100, within(0.1));
    }

    @Test
    void ratesAreThoseOfTheComparison() {
        List<WayModel> ways = model.sets().sets().getFirst().ways();
        assertThat(rate(ways, "packing")).isCloseTo(600 / 7.0, within(1e-9));
        assertThat(rate(ways, "multi-tree (kernighan-lin)")).isCloseTo(66.667, within(0.001));
        assertThat(model.sets().sets().getFirst().parts()).hasSize(8);
        assertThat(model.sets().sets().getFirst().limit()).hasSize(32);
    }

    private static double rate(List<WayModel> ways, String algorithm) {
        return ways.get(model.algorithms().indexOf(algorithm)).rate();
    }

    @Test
    void treesSpanTheirSetAndShareAllData() {
        for (SetModel set : model.sets().sets()) {
            for (WayModel way : set.ways()) {
                if (way.trees() != null) {
                    assertThat(way.trees()).isNotEmpty().allSatisfy(tree -> {
                        assertThat(tree.up()).hasSize(set.devices().size());
                        assertThat(tree.up()).filteredOn(parent -> parent < 0).hasSize(1);
                    });
                    double sum = way.trees().stream()
                            .mapToDouble(tree -> fraction(tree.share()))
                            .sum();
                    assertThat(sum).isCloseTo(1, within(1e-9));
                }
            }
        }
    }

    private static double fraction(String text) {
        String[] parts = text.split("/", -1);
        return Double.parseDouble(parts[0]) / (parts.length > 1 ? Double.parseDouble(parts[1]) : 1);
    }

    @Test
    void curvesHoldPredictionsWithRangesAndWhatWasMeasured() {
        assertThat(model.curves())
                .extracting(Curve::name)
                .containsExactly(
                        "packing",
                        "multi-tree (kernighan-lin)",
                        "single-tree (kernighan-lin)",
                        "ring",
                        "star",
                        "one-shot",
                        "auto",
                        "nccl",
                        "NCCL, sweep.txt");
        Curve auto = model.curves().get(6);
        for (int i = 0; i < auto.points().size(); i++) {
            int size = i;
            double best = model.curves().subList(0, 6).stream()
                    .mapToDouble(curve -> curve.points().get(size).us())
                    .min()
                    .orElseThrow();
            assertThat(auto.points().get(i).us()).isLessThanOrEqualTo(best * 1.03);
        }
        assertThat(model.curves())
                .allSatisfy(curve -> assertThat(curve.points().stream().dropWhile(point -> point.least() == null))
                        .as("the band of %s has no hole once it has begun", curve.name())
                        .allMatch(point -> point.least() != null));
        assertThat(model.curves().getFirst().points())
                .allSatisfy(point -> assertThat(point.us()).isBetween(point.least(), point.most()));
    }

    @Test
    void gpusThatBanyanDoesNotRunOnAreNamed() {
        assertThat(Pages.model(Machine.preset("mi300x8").subset(0, 1)).predictedBy())
                .endsWith(". Banyan does not run on these GPUs; its times are what the simulator would expect if it"
                        + " did");
        assertThat(model.predictedBy()).doesNotContain("does not run");
    }

    /** Kernels let the switch add, which takes them beyond the bound without reduction. */
    @Test
    void noCurveIsFasterThanTheBoundBesideIt() {
        PageModel switched = Pages.model(Machine.preset("dgx-h100").subset(0, 1, 2, 3));
        PageModel.SwitchModel inSwitch = Objects.requireNonNull(switched.inSwitch());
        double bound = inSwitch.bound();
        assertThat(bound).isGreaterThan(switched.sets().sets().getFirst().bound());
        assertThat(inSwitch.why()).contains("must send and receive 5/4 bytes").endsWith(" * 4/5 = 360 GB/s");
        assertThat(inSwitch.rate()).isGreaterThan(0.9 * bound).isLessThanOrEqualTo(bound);
        assertThat(switched.curves())
                .filteredOn(curve -> !curve.measured())
                .flatExtracting(Curve::points)
                .allSatisfy(
                        point -> assertThat(point.bytes() / point.us() / 1e3).isLessThan(bound));
        assertThat(model.inSwitch()).isNull();
    }

    @Test
    void playbacksEndWithTheirLastTransferAndCrossLinksInTurn() {
        assertThat(model.playbacks()).hasSize(12).allSatisfy(playback -> {
            assertThat(playback.us() - lastArrivalUs(playback))
                    .as("time after the last arrival, for kernels, of %s", playback.algorithm())
                    .isBetween(-0.02, 0.2 * playback.us() + 10);
            assertThat(playback.routes()).allSatisfy(route -> {
                assertThat(start(route.get(2))).isEqualTo(route.get(0));
                assertThat(start(route.getLast() ^ 1)).isEqualTo(route.get(1));
            });
            assertThat(playback.start()).hasSizeLessThanOrEqualTo(1500).allMatch(step -> step >= 0);
        });
    }

    private static double lastArrivalUs(Playback playback) {
        int now = 0;
        int last = 0;
        for (int i = 0; i < playback.start().size(); i++) {
            now += playback.start().get(i);
            last = Math.max(
                    last, now + playback.length().get(i) + playback.delay().get(i));
        }
        return last / 100.0;
    }

    private static int start(int directed) {
        var link = model.machine().links().get(directed / 2);
        return directed % 2 == 0 ? link.a() : link.b();
    }

    /** Their copies also take a part of the way through the host, which is no link. */
    @Test
    void machinesWithoutPeerAccessHavePages() {
        PageModel staged = Pages.model(Machine.preset("rtx4090x8").subset(0, 1, 4));
        int directed = 2 * staged.machine().links().size();
        assertThat(staged.playbacks())
                .isNotEmpty()
                .allSatisfy(playback -> assertThat(playback.routes())
                        .isNotEmpty()
                        .allSatisfy(route ->
                                assertThat(route.subList(2, route.size())).allMatch(link -> link < directed)));
    }

    @Test
    void gradientsTogetherTakeNoLongerThanOneByOne() {
        assertThat(model.steps()).hasSize(2).allSatisfy(step -> {
            assertThat(step.ways())
                    .extracting(way -> model.curves().get(way.curve()).name())
                    .containsExactlyElementsOf(Stream.concat(model.algorithms().stream(), Stream.of("auto", "nccl"))
                            .toList());
            assertThat(step.ways().subList(0, step.ways().size() - 1)).allSatisfy(way -> {
                assertThat(way.togetherMs()).isLessThanOrEqualTo(way.oneByOneMs() * 1.01);
                assertThat(Collections.max(way.doneMs())).isCloseTo(way.togetherMs(), within(0.001));
            });
            assertThat(step.ways().getLast().togetherMs()).isNull();
        });
    }

    @Test
    void samePageEveryTime() {
        Machine machine = Machine.preset("pcie-4");
        assertThat(MachinePage.html(Pages.model(machine))).isEqualTo(MachinePage.html(Pages.model("pcie-4")));
    }

    @Test
    void machineOfOneDeviceIsRefused() {
        Machine one = new Machine("one", List.of(Device.named("GPU0")), List.of(), List.of(), List.of(), List.of());
        assertThatThrownBy(() -> Pages.model(one))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("at least 2");
    }
}
