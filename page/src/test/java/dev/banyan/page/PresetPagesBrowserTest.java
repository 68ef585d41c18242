package dev.banyan.page;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.page.model.PageModel;
import dev.banyan.page.model.SetModel;
import dev.banyan.page.model.SetsModel;
import dev.banyan.topology.Machine;
import dev.banyan.topology.format.MachineReader;
import dev.banyan.topology.option.MatrixUnit;
import dev.banyan.topology.option.StatedSpeeds;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Pages of several kinds of machines; pictures of them are left in target/screenshots. */
@ResourceLock("browser")
class PresetPagesBrowserTest {
    @TempDir
    static Path folder;

    private static Browser browser;

    @BeforeAll
    static void start() {
        browser = Browser.shared();
    }

    private static Path page(String preset) throws IOException {
        return Files.writeString(folder.resolve(preset + ".html"), MachinePage.html(Pages.model(preset)));
    }

    /** {@link MachinePageBrowserTest} opens that of p3.16xlarge. */
    @ParameterizedTest
    @ValueSource(strings = {"gb200-tray", "pcie-4"})
    void pageOpensWithoutErrorAndLeavesAGpuOut(String preset) throws IOException {
        assertOpens(preset);
    }

    @ParameterizedTest
    @Tag("soak")
    @ValueSource(strings = {"dgx-a100", "pcie-8", "mi250x8", "dgx-2"})
    void largePageOpensWithoutErrorAndLeavesAGpuOut(String preset) throws IOException {
        assertOpens(preset);
    }

    private static void assertOpens(String preset) throws IOException {
        Path page = page(preset);
        assertThat(Files.size(page)).isLessThan(1_500_000);
        browser.open(page);
        browser.assertFits(preset);
        assertThat(browser.text("#step-note").contains(", auto copy through a staging buffer; the curves above"))
                .as("only behind switches kernels exchange buffers directly")
                .isEqualTo(!preset.startsWith("pcie") && !preset.equals("mi250x8"));
        browser.click("[data-gpu='1']");
        assertThat(browser.text("#bound")).contains("GB/s");
        browser.click("[data-shown='all']");
        assertThat(browser.all("#drawing path[data-tree]")).isNotEmpty();
        browser.stopClock();
        browser.click("#play");
        browser.frame(6000);
        assertThat(browser.all("#play-drawing .chunk")).isNotEmpty();
        assertThat(browser.console()).isEmpty();
    }

    @Test
    void assumedSpeedsStandBesideTheBound() throws IOException {
        Machine table = new MachineReader(
                        MatrixUnit.CLASSES, new StatedSpeeds(0, 0, 0, 0, "", StatedSpeeds.PeerAccess.NO))
                .parse("four.txt", """
                    GPU0 GPU1 GPU2 GPU3
                    GPU0 X PIX SYS SYS
                    GPU1 PIX X SYS SYS
                    GPU2 SYS SYS X PIX
                    GPU3 SYS SYS PIX X
                    """);
        PageModel model = Pages.model(table);
        Path page = Files.writeString(folder.resolve("four.html"), MachinePage.html(model));
        browser.open(page);
        assertThat(browser.text("#bound")).startsWith("At the links' rates no schedule exceeds");
        assertThat(browser.text("#assumed"))
                .startsWith("Assumed: PCIe gen3, 12 GB/s one way for 16 lanes")
                .contains("no other speed is assumed (add lscpu's lines Architecture, Vendor ID, CPU family and Model"
                        + " to the file, or state what you know by --socket-gbs or --gpu or --pcie-gen or"
                        + " --pcie-lanes).");
        assertThat(model.algorithms().get(model.chosen())).isEqualTo("ring");
        assertThat(browser.find("input[name='algorithm']:checked").getAttribute("value"))
                .isEqualTo(Integer.toString(model.chosen()));
        assertThat(browser.all(".remark"))
                .satisfiesExactly(
                        rates -> assertThat(rates.getText()).startsWith("PCIe is counted as NCCL counts it"),
                        access -> assertThat(access.getText()).startsWith("No peer access between any two devices"));
        assertThat(browser.all("#beyond")).isEmpty();
        assertThat(browser.text("#about")).contains("banyan export --for nccl -o graph.xml --machine four.txt");
        assertThat(browser.console()).isEmpty();
    }

    /** At one host bridge all rings are equally good, and MSCCL++ needs the access that these GPUs do not have. */
    @Test
    void whereNoFileHelpsThePageNamesNone() throws IOException {
        Machine pair = new MachineReader(
                        MatrixUnit.CLASSES, new StatedSpeeds(0, 0, 0, 0, "", StatedSpeeds.PeerAccess.NO))
                .parse("pair.txt", """
                    GPU0 GPU1
                    GPU0 X PHB
                    GPU1 PHB X
                    """);
        browser.open(Files.writeString(folder.resolve("pair.html"), MachinePage.html(Pages.model(pair))));
        assertThat(browser.text("#about")).contains("No file helps Python here");
        assertThat(browser.all("#about code")).isEmpty();
        assertThat(browser.console()).isEmpty();
    }

    /** A page of so few sets as larger machines have. */
    @Test
    void setThatThePageDoesNotHoldNamesTheCommand() throws IOException {
        PageModel whole = Pages.model("p3.16xlarge");
        List<SetModel> held = whole.sets().sets().stream()
                .filter(set -> set.devices().size() <= 3 || set.devices().size() >= 7)
                .toList();
        PageModel model = new PageModel(
                whole.version(),
                whole.machine(),
                whole.options(),
                whole.devices(),
                whole.algorithms(),
                whole.chosen(),
                new SetsModel(3, held),
                whole.inSwitch(),
                whole.anyRing(),
                whole.peerAccess(),
                whole.predictedBy(),
                whole.exchanging(),
                whole.curves(),
                whole.playbacks(),
                whole.steps(),
                whole.notes());
        browser.open(Files.writeString(folder.resolve("few.html"), MachinePage.html(model)));
        for (int device : new int[] {3, 5, 7}) {
            browser.click("[data-gpu='" + device + "']");
        }
        assertThat(browser.text("#missing")).contains("banyan compare --machine p3.16xlarge --devices 0,1,2,4,6");
        browser.click("#all-gpus");
        assertThat(browser.all("#bound")).hasSize(1);
        assertThat(browser.console()).isEmpty();
    }
}
