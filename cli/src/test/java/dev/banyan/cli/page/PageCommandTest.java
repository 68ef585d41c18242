package dev.banyan.cli.page;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.cli.CommandRun;
import dev.banyan.page.model.Curve;
import dev.banyan.page.study.MeasuredCurves;
import dev.banyan.topology.Machine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PageCommandTest {
    private static final String NCCL_TESTS = """
        #       size         count    type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
        #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
             1048576        262144   float     sum      -1    60.10   17.45   26.17      0    59.90   17.51   26.26      0
             2097152        524288   float     sum      -1    85.00   24.67   37.01      0    84.90   24.70   37.05      0
        """;

    @TempDir
    Path folder;

    @Test
    void pageIsWrittenWithWhatWasMeasured() throws IOException {
        Path sweep = Files.writeString(folder.resolve("sweep.txt"), sweep("sum      -1"));
        Path machine = Files.writeString(
                folder.resolve("four.txt"),
                "GPU0 GPU1 GPU2 GPU3\nGPU0 X NV2 NV2 NV2\nGPU1 NV2 X NV2 NV2\nGPU2 NV2 NV2 X NV2\n"
                        + "GPU3 NV2 NV2 NV2 X\n");
        Path page = folder.resolve("machine.html");
        CommandRun run = CommandRun.of("page --machine " + machine + " --nvlink-gbs 25 --devices 3,1 --output " + page
                + " --results " + sweep + " --trees shallow --rings 1");
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).endsWith(": " + page + " (open it in a browser)\n");
        assertThat(page)
                .content()
                .contains(
                        "<title>four.txt - Banyan</title>",
                        "\"multi-tree (shallow)\"",
                        "\"ring/1\"",
                        "\"options\":\"--machine " + machine + " --nvlink-gbs 25\",\"devices\":[3,1]");
    }

    @Test
    void sweepOfNcclTestsIsACurve() throws IOException {
        Path sweep = Files.writeString(folder.resolve("sweep.txt"), NCCL_TESTS);
        List<Curve> curves = MeasuredCurves.read(sweep, Machine.preset("p3.8xlarge"));
        assertThat(curves)
                .containsExactly(new Curve(
                        "NCCL, sweep.txt",
                        true,
                        List.of(new Curve.Point(1 << 20, 60.1), new Curve.Point(2 << 20, 85))));
    }

    @Test
    void sweepOfAnotherCollectiveIsRefused() throws IOException {
        Path sweep = Files.writeString(folder.resolve("sweep.txt"), sweep("none      0"));
        assertThatThrownBy(() -> MeasuredCurves.read(sweep, Machine.preset("p3.8xlarge")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("sweep of broadcast")
                .hasMessageContaining("all_reduce_perf");
    }

    @Test
    void benchIsACurveForEachAlgorithm() throws IOException {
        Path bench = folder.resolve("bench.json");
        CommandRun run = CommandRun.of(
                "bench --machine p3.8xlarge -b 1K -e 4K -f 4 -n 1 -w 0 --algorithm star,multi-tree --format json");
        assertThat(run.status()).as(run.err()).isZero();
        Files.writeString(bench, run.out());
        List<Curve> curves = MeasuredCurves.read(bench, Machine.preset("p3.8xlarge"));
        assertThat(curves)
                .extracting(Curve::name)
                .containsExactly("star, bench.json", "multi-tree (kernighan-lin), bench.json");
        assertThat(curves).allSatisfy(curve -> {
            assertThat(curve.measured()).isTrue();
            assertThat(curve.points()).extracting(Curve.Point::bytes).containsExactly(1024L, 4096L);
        });
        assertThat(MeasuredCurves.read(folder, Machine.preset("p3.8xlarge"))).isEqualTo(curves);
        assertThatThrownBy(() -> MeasuredCurves.read(bench, Machine.preset("p3.16xlarge")))
                .hasMessageContaining("between 8 ranks");
    }

    @Test
    void predictionsAreNotCalledMeasured() throws IOException {
        Path bench = folder.resolve("predicted.json");
        Files.writeString(
                bench,
                CommandRun.of("predict --machine p3.8xlarge -b 1K -e 1K --algorithm star --format json")
                        .out());
        assertThat(MeasuredCurves.read(bench, Machine.preset("p3.8xlarge")))
                .singleElement()
                .satisfies(curve -> assertThat(curve.measured()).isFalse());
    }

    @Test
    void wrongUsageIsRefusedBeforeAnythingIsComputed() throws IOException {
        assertThat(CommandRun.of("page --machine p3.8xlarge --output " + folder.resolve("none/page.html"))
                        .err())
                .contains("there is no folder", "make it first");
        Path broken = Files.writeString(folder.resolve("broken.json"), "[{");
        assertThat(CommandRun.of("page --machine p3.8xlarge --results " + broken)
                        .err())
                .contains("is no whole JSON", "--format json");
        assertThat(CommandRun.of("page --machine p3.8xlarge --results " + folder.resolve("missing"))
                        .err())
                .contains("no file is called");
    }

    /** Returns a sweep between two devices, or of a collective that sends each byte once. */
    private static String sweep(String operation) {
        return NCCL_TESTS
                .replace("sum      -1", operation)
                .replace("26.17", "17.45")
                .replace("26.26", "17.51")
                .replace("37.01", "24.67")
                .replace("37.05", "24.70");
    }
}
