package dev.banyan.study.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WorkloadTest {
    @ParameterizedTest
    @CsvSource({
        "resnet-50, 157, 25549486, 3, 2359296, 1000",
        "vgg-16, 32, 138357544, 1728, 102760448, 1000",
        "inception-v3, 284, 23834568, 864, 2048000, 1000",
        "alexnet, 16, 50844008, 34848, 26214400, 1000",
        "inception-bn, 278, 11295240, 9408, 1024000, 1000",
        "lenet-5, 8, 431080, 500, 400000, 10"
    })
    void modelsHaveTheirKeys(String model, int keys, long total, long first, long largest, long last) {
        Workload workload = Objects.requireNonNull(Workload.all().get(model));
        assertThat(workload.keys()).isEqualTo(keys);
        assertThat(workload.totalElements()).isEqualTo(total);
        assertThat(workload.elements()).startsWith(first).endsWith(last);
        assertThat(workload.elements().stream().mapToLong(Long::longValue).max())
                .hasValue(largest);
    }

    @ParameterizedTest
    @CsvSource({
        "resnet-50, mxnet_symbol_resnet-50-v2",
        "vgg-16, mxnet_symbol_vgg-16",
        "inception-v3, mxnet_symbol_inception-v3",
        "alexnet, mxnet_symbol_alexnet"
    })
    void keysAreThoseOfThePublishedModels(String model, String published) throws Exception {
        Path file = Path.of(System.getProperty("banyan.shared", ""), "workloads", "gradient_sizes.csv");
        assumeTrue(Files.exists(file), () -> file + " is not there");
        List<Long> expected = Files.readAllLines(file).stream()
                .map(line -> line.split(",", -1))
                .filter(cells -> cells[0].equals(published))
                .map(cells -> Long.valueOf(cells[3]))
                .toList();
        assertThat(Objects.requireNonNull(Workload.all().get(model)).elements()).isEqualTo(expected);
    }

    @Test
    void lenetIsThatOfThePublishedTrace() throws Exception {
        Path file = Path.of(System.getProperty("banyan.shared", ""), "figures", "dlc_lenet5_fragment.txt");
        assumeTrue(Files.exists(file), () -> file + " is not there");
        int bytesAround = 42;
        List<Long> published = Files.readAllLines(file).stream()
                .filter(line -> line.contains("\t-15\tOP:= Push_Send_Worker"))
                .map(line -> (Long.parseLong(line.split("\t", -1)[3]) - bytesAround) / Float.BYTES)
                .toList();
        assertThat(Objects.requireNonNull(Workload.all().get("lenet-5")).elements())
                .isEqualTo(published);
    }

    @Test
    void namesAreListedInOrder() {
        assertThat(Workload.all().keySet())
                .containsExactly(
                        "resnet-50",
                        "vgg-16",
                        "inception-v3",
                        "alexnet",
                        "inception-bn",
                        "lenet-5",
                        "bert-large",
                        "gpt-2-xl",
                        "llama-3-8b",
                        "vit-l",
                        "mixtral-layer");
        assertThat(Workload.small()).hasSize(6);
    }

    /** The totals are those that the public implementations count, of Mixtral with 32 layers and its embeddings. */
    @Test
    void transformersHaveTheirPublishedParameters() {
        assertThat(total("bert-large")).isEqualTo(336_226_108L);
        assertThat(total("gpt-2-xl")).isEqualTo(1_557_611_200L);
        assertThat(total("llama-3-8b")).isEqualTo(8_030_261_248L);
        assertThat(total("vit-l")).isEqualTo(304_326_632L);
        assertThat(32 * total("mixtral-layer") + 2 * 32_000L * 4096 + 4096).isEqualTo(46_702_792_704L);
        assertThat(keys("bert-large")).isEqualTo(398);
        assertThat(keys("gpt-2-xl")).isEqualTo(580);
        assertThat(keys("llama-3-8b")).isEqualTo(291);
        assertThat(keys("vit-l")).isEqualTo(296);
        assertThat(keys("mixtral-layer")).isEqualTo(31);
    }

    private static long total(String model) {
        return Objects.requireNonNull(Workload.all().get(model)).totalElements();
    }

    private static int keys(String model) {
        return Objects.requireNonNull(Workload.all().get(model)).keys();
    }

    @Test
    void bucketsAreThoseOfDistributedDataParallel() {
        Workload keys = new Workload("keys", List.of(5L, 40L, 3L, 100L, 6L, 2L, 1L));
        // Limits of 8 and 40 bytes: 1 + 2 elements are 12 bytes, 6 + 100 are 424, 3 + 40 are 172, and 5 are left.
        assertThat(keys.inBuckets(8, 40, 4).elements()).containsExactly(3L, 106L, 43L, 5L);
        assertThat(keys.inBuckets(1 << 20, 25 << 20, 4).elements()).containsExactly(157L);
        assertThat(keys.inBuckets(1, 1, 4).elements()).isEqualTo(keys.elements().reversed());
        for (Workload model : Workload.all().values()) {
            Workload buckets = model.inBuckets(1 << 20, 25 << 20, 4);
            assertThat(buckets.totalElements()).isEqualTo(model.totalElements());
            assertThat(buckets.keys()).isLessThan(model.keys());
            assertThat(buckets.elements().subList(1, buckets.keys() - 1))
                    .allMatch(elements -> elements * 4 >= 25 << 20);
        }
    }

    @Test
    void filesHaveASizeOnEachLine(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("sizes.txt"), "# mine\n100\n\n 20 \nbias, 3\n");
        assertThat(Workload.read(file).elements()).containsExactly(100L, 20L, 3L);
        Files.writeString(file, "100\n12.5\n");
        assertThatThrownBy(() -> Workload.read(file))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(file + ", line 2: '12.5' is no number of elements; write a key's number of elements on"
                        + " each line, at least 1, alone or as the last field with commas before it");
    }
}
