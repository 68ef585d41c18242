package dev.banyan.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
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
                .containsExactly("resnet-50", "vgg-16", "inception-v3", "alexnet", "inception-bn", "lenet-5");
    }
}
