package dev.banyan.page;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.page.model.PageModel;
import dev.banyan.page.model.SetModel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.openqa.selenium.Keys;
import org.openqa.selenium.WebElement;

/** The page of p3.16xlarge, used as people do. */
@ResourceLock("browser")
class MachinePageBrowserTest {
    @TempDir
    static Path folder;

    private static PageModel model;
    private static Path page;
    private static Browser browser;

    @BeforeAll
    static void start() throws IOException {
        browser = Browser.shared();
        model = Pages.model("p3.16xlarge");
        page = Files.writeString(folder.resolve("page.html"), MachinePage.html(model));
    }

    @BeforeEach
    void open() {
        browser.open(page);
    }

    @AfterEach
    void consoleHasNoError() {
        assertThat(browser.console()).isEmpty();
    }

    private static SetModel set(Integer... devices) {
        return model.sets().sets().stream()
                .filter(set -> set.devices().equals(List.of(devices)))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void pageSaysWhatTheMachineReaches() {
        assertThat(browser.text("#name")).isEqualTo("p3.16xlarge");
        assertThat(browser.text("#summary")).contains("8 GPUs", "85.714 GB/s");
        assertThat(browser.text("#bound"))
                .isEqualTo("Over NVLink alone: no schedule exceeds 85.714 GB/s of algbw (exactly 600/7).");
        assertThat(browser.text("#beyond"))
                .matches("Schedules that use what is not counted here have a higher bound: [0-9.]+ GB/s"
                        + " over all links, PCIe as well\\.");
        assertThat(browser.all("#assumed")).isEmpty();
        assertThat(browser.text("#why"))
                .contains("Cut into single GPUs: the links between them carry 600 GB/s each way in all");
        assertThat(browser.text("#about")).contains("published sweeps");
    }

    @Test
    void clickOnGpuLeavesItOut() {
        browser.click("[data-gpu='3']");
        assertThat(browser.find("[data-gpu='3']").getAttribute("aria-checked")).isEqualTo("false");
        assertThat(browser.text("#group-text")).isEqualTo("7 of 8: 0, 1, 2, 4, 5, 6, 7");
        SetModel left = set(0, 1, 2, 4, 5, 6, 7);
        assertThat(browser.text("#why")).containsIgnoringCase(left.why());
        assertThat(browser.text("#subset"))
                .isEqualTo("The page has bounds over all links only for all GPUs. For the chosen ones: banyan compare"
                        + " --machine p3.16xlarge --devices 0,1,2,4,5,6,7");
        assertThat(browser.text("#panel .remark")).startsWith("Links of the whole machine: PCIe");
        browser.click("#all-gpus");
        assertThat(browser.text("#group-text")).isEqualTo("all 8");
        assertThat(browser.all("#subset")).isEmpty();
        assertThat(browser.text("#panel .remark")).startsWith("PCIe");
    }

    @Test
    void keyboardTogglesGpus() {
        WebElement gpu = browser.find("[data-gpu='5']");
        gpu.sendKeys(Keys.SPACE);
        assertThat(gpu.getAttribute("aria-checked")).isEqualTo("false");
        gpu.sendKeys(Keys.ENTER);
        assertThat(gpu.getAttribute("aria-checked")).isEqualTo("true");
    }

    @Test
    void oneGpuHasNothingToReduce() {
        for (int device = 1; device < 8; device++) {
            browser.click("[data-gpu='" + device + "']");
        }
        assertThat(browser.text("#missing")).contains("at least two GPUs");
    }

    @Test
    void relaysRaiseTheBound() {
        for (int device : new int[] {3, 5, 6, 7}) {
            browser.click("[data-gpu='" + device + "']");
        }
        SetModel alone = set(0, 1, 2, 4);
        SetModel relayed = Objects.requireNonNull(alone.relayed());
        String before = browser.text("#bound");
        browser.click("#relays");
        assertThat(browser.text("#bound")).isNotEqualTo(before);
        assertThat(browser.text("#why")).containsIgnoringCase(relayed.why());
        assertThat(browser.all("#panel input[type=radio]:not(:disabled)")).hasSize(1);
    }

    @Test
    void hoverTellsALinkWithItsLoad() {
        WebElement drawing = browser.find("#drawing svg");
        browser.script("const hit = document.querySelector('[data-link=\"0\"]');"
                + "hit.dispatchEvent(new MouseEvent('mouseenter'))");
        assertThat(browser.text("#pointed")).contains("GPU0 - ", "GB/s", "% used");
        browser.hover(drawing, 0, -drawing.getSize().getHeight() / 2 + 2);
        browser.script("document.querySelector('[data-link=\"0\"]').dispatchEvent(new MouseEvent('mouseleave'))");
        assertThat(browser.text("#pointed")).isEmpty();
    }

    @Test
    void pointerOnALinkTellsIt() {
        // The middle of the line from GPU 0 to GPU 3.
        WebElement link = browser.find("[data-link='2']");
        browser.hover(link, 0, 0);
        assertThat(browser.text("#pointed")).contains("NVLink");
    }

    @Test
    void algorithmsColourTheLinks() {
        Set<String> packed = strokes();
        browser.click("#panel input[value='4']");
        Set<String> star = strokes();
        assertThat(star).isNotEqualTo(packed);
        assertThat(browser.text("#tree-text")).contains("1 tree, depth 1");
        browser.click("#panel input[value='3']");
        assertThat(browser.text("#tree-text")).contains("4 rings as 32 chains, one for each ring and GPU, depth 7");
    }

    private static Set<String> strokes() {
        return browser.all("#drawing path[stroke-width]").stream()
                .map(path -> path.getAttribute("d") + path.getAttribute("stroke"))
                .collect(Collectors.toSet());
    }

    @Test
    void treesAreDrawnOneByOneAndTogether() {
        int trees = Objects.requireNonNull(
                        model.sets().sets().getFirst().ways().getFirst().trees())
                .size();
        browser.click("[data-shown='0']");
        assertThat(browser.all("#drawing path[data-tree]")).hasSize(7);
        assertThat(browser.text("#tree-text")).startsWith("Tree 1: sums go up to GPU");
        assertThat(browser.all("#drawing .gpu.root")).hasSize(1);
        browser.click("[data-shown='all']");
        assertThat(browser.all("#drawing path[data-tree]")).hasSize(7 * trees);
        assertThat((List<?>)
                        browser.script("return [...new Map([...document.querySelectorAll('#drawing path[data-tree]')]"
                                + ".map(path => [path.dataset.tree, getComputedStyle(path).stroke])).values()]"))
                .as("colours of trees")
                .hasSize(trees)
                .doesNotHaveDuplicates();
        browser.click("[data-shown='load']");
        assertThat(browser.all("#drawing path[data-tree]")).isEmpty();
    }

    @Test
    void whatLimitsIsMarked() {
        browser.click("#limit");
        assertThat(browser.all("#drawing path[data-limit]")).hasSize(16);
        assertThat(browser.text("#legend")).contains("used of a link", "what limits");
        browser.click("[data-shown='all']");
        assertThat(browser.text("#legend"))
                .contains("colours: trees", "what limits")
                .doesNotContain("used of a link");
        browser.click("#limit");
        assertThat(browser.all("#drawing path[data-limit]")).isEmpty();
        assertThat(browser.text("#legend")).doesNotContain("what limits", "null");
    }

    @Test
    void focusStaysWhereItWasAfterAChange() {
        WebElement limit = browser.find("#limit");
        limit.sendKeys(Keys.SPACE);
        assertThat(browser.script("return document.activeElement.id")).isEqualTo("limit");
    }

    @Test
    void curvesTellTimesOfTheChosenSize() {
        assertThat(browser.text("#curve-size-text")).isEqualTo("64 MiB");
        assertThat(browser.all("#time-chart canvas, #busbw-chart canvas")).hasSize(2);
        assertThat(row("NCCL, sweep.txt")).contains("(measured)", "1.1 ms", "106.76 GB/s");
        assertThat(row("bound")).contains("150 GB/s");
        String packing = row("packing");
        browser.slide("#curve-size", 0);
        assertThat(browser.text("#curve-size-text")).isEqualTo("1 KiB");
        assertThat(row("packing")).isNotEqualTo(packing);
        assertThat(row("NCCL, sweep.txt")).doesNotContain("GB/s");
    }

    private static String row(String curve) {
        return browser.all("#curve-legend tr[data-curve]").stream()
                .filter(row -> curve.equals(row.getAttribute("data-curve")))
                .findFirst()
                .orElseThrow()
                .getText();
    }

    @Test
    void pointerOnACurveChoosesTheSize() {
        WebElement chart = browser.find("#busbw-chart .u-over");
        browser.hover(chart, -chart.getSize().getWidth() / 2 + 3, 0);
        browser.await("document.getElementById('curve-size-text').textContent === '1 KiB'");
    }

    @Test
    void curvesCanBeHiddenAndHighlighted() {
        int shown = pixels("#busbw-chart canvas");
        browser.click("tr[data-curve='star'] input");
        int hidden = pixels("#busbw-chart canvas");
        assertThat(hidden).isNotEqualTo(shown);
        browser.click("tr[data-curve='ring'] button");
        assertThat(browser.find("tr[data-curve='ring'] button").getAttribute("aria-pressed"))
                .isEqualTo("true");
        assertThat(pixels("#busbw-chart canvas")).isNotEqualTo(hidden);
    }

    @Test
    void curvesThatAreNoAlgorithmsAreDashed() {
        assertThat(browser.all("#curve-legend .swatch").stream()
                        .filter(swatch ->
                                swatch.getCssValue("background-image").startsWith("repeating-linear-gradient")))
                .as("auto, nccl and the bound")
                .hasSize(3);
    }

    @Test
    void pageFitsScreensInLightAndDark() throws IOException {
        browser.assertFits("p3.16xlarge");
    }

    /** A sum over what a canvas shows. */
    private static int pixels(String canvas) {
        return ((Number) browser.script(
                        "const c = document.querySelector(arguments[0]);"
                                + "return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {"
                                + "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
                                + "let sum = 0; for (let i = 0; i < d.length; i++) sum = (sum * 31 + d[i]) | 0;"
                                + "done(sum);})))",
                        canvas))
                .intValue();
    }

    @Test
    void scheduleIsPlayedPausedAndScrubbed() {
        browser.stopClock();
        browser.click("#play");
        browser.frame(4000);
        assertThat(browser.all("#play-drawing .chunk")).hasSizeGreaterThan(3);
        assertThat(browser.text("#play")).isEqualTo("Pause");
        browser.click("#play");
        String paused = browser.text("#play-text");
        assertThat(paused).contains(" of ").contains("chunks on");
        browser.frame(5000);
        assertThat(browser.text("#play-text")).isEqualTo(paused);
        browser.slide("#play-time", 1000);
        assertThat(browser.all("#play-drawing .chunk")).isEmpty();
        assertThat(browser.text("#play-text")).endsWith("0 chunks on 0 links");
        browser.slide("#play-time", 500);
        assertThat(browser.all("#play-drawing .chunk")).isNotEmpty();
    }

    @Test
    void playbackEndsByItselfAndStartsAgain() {
        browser.stopClock();
        browser.choose("#play-speed", "4 x");
        browser.slide("#play-time", 900);
        browser.click("#play");
        browser.frame(100);
        assertThat(browser.text("#play")).isEqualTo("Pause");
        browser.frame(400);
        assertThat(browser.text("#play")).isEqualTo("Play");
        assertThat(browser.find("#play-time").getAttribute("value")).isEqualTo("1000");
        browser.click("#play");
        browser.frame(300);
        assertThat(browser.find("#play-time").getAttribute("value")).isEqualTo("100");
    }

    @Test
    void everyAlgorithmAndSizeIsPlayed() {
        for (String algorithm : model.algorithms()) {
            for (String size : List.of("64 KiB", "64 MiB")) {
                browser.choose("#play-algorithm", algorithm);
                browser.choose("#play-size", size);
                browser.slide("#play-time", 400);
                assertThat(browser.text("#lanes-title")).contains(algorithm + " of " + size);
                assertThat(browser.text("#play-text")).contains("chunk");
            }
        }
    }

    @Test
    void theNoteSaysWhetherTransfersAreJoined() {
        browser.choose("#play-algorithm", "star");
        browser.choose("#play-size", "64 KiB");
        assertThat(browser.text("#play-note")).startsWith("All 224 transfers are drawn, of at most 4 KiB. ");
        browser.choose("#play-algorithm", "packing");
        browser.choose("#play-size", "64 MiB");
        assertThat(browser.text("#play-note")).contains("; the real ones are shorter, and too many to draw. ");
    }

    @Test
    void coloursOfThePlayedTreesAreNamed() {
        assertThat(browser.text("#play-trees")).startsWith("tree 1").contains("tree 8");
        browser.choose("#play-algorithm", "single-tree (kernighan-lin)");
        assertThat(browser.text("#play-trees")).isEqualTo("tree 1");
        browser.choose("#play-algorithm", "ring");
        assertThat(browser.text("#play-trees")).startsWith("chain 1").contains("chain 24");
    }

    @Test
    void pointerOnALaneTellsItsTransfer() {
        WebElement lanes = browser.find("#lanes");
        browser.hover(lanes, 0, -lanes.getSize().getHeight() / 2 + 4);
        assertThat(browser.text("#lane-pointed")).contains("→").contains(" at ");
    }

    @Test
    void stepsShowTheChosenModel() {
        assertThat(browser.text("#step-note")).startsWith("83.2 KiB of F32 in 1 bucket ");
        browser.choose("#step-model", "large");
        assertThat(browser.text("#step-note")).startsWith("19.07 MiB of F32 in 2 buckets");
        assertThat(browser.text("#step-bars")).contains("packing", "auto", "nccl", "all in flight", "one in flight");
        assertThat(browser.all("#step-chart canvas")).hasSize(1);
    }

    @Test
    void tablesHoldTheNumbersAndAreCopied() {
        browser.choose("#table-choice", "Sets of GPUs");
        assertThat(browser.all("#table tbody tr")).hasSize(247);
        browser.choose("#table-choice", "Algorithms, of the chosen GPUs");
        assertThat(browser.text("#table")).contains("packing 85.7143 600/7 100");
        browser.click("#table-copy");
        browser.await("document.getElementById('table-text').textContent === '6 rows copied'");
        browser.script("const area = document.createElement('textarea'); area.id = 'pasted';"
                + "document.querySelector('main').prepend(area); area.focus()");
        browser.find("#pasted").sendKeys(Keys.chord(Keys.CONTROL, "v"));
        assertThat(browser.find("#pasted").getAttribute("value"))
                .startsWith("algorithm\tGB/s of algbw\texact\t% of the bound\ttrees (rings)\tdepth\n"
                        + "packing\t85.7143\t600/7\t100\t");
    }

    @Test
    void everyTableHasRows() {
        List<WebElement> choices = browser.all("#table-choice option");
        for (WebElement choice : choices) {
            choice.click();
            assertThat(browser.all("#table tbody tr")).as(choice.getText()).isNotEmpty();
            assertThat(browser.text("#table")).doesNotContain("undefined").doesNotContain("NaN");
        }
    }

    @Test
    void coloursAreLightOrDarkAndLeaveThePlayerItsTime() {
        browser.slide("#play-time", 500);
        String before = background();
        browser.click("#theme");
        String after = background();
        assertThat(after).isNotEqualTo(before);
        assertThat(browser.find("#play-time").getAttribute("value")).isEqualTo("500");
        browser.click("#theme");
        assertThat(background()).isEqualTo(before);
    }

    private static String background() {
        return browser.find("body").getCssValue("background-color");
    }
}
