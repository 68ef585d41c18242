package dev.banyan.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assertions.withinPercentage;
import static org.assertj.core.data.Percentage.withPercentage;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.banyan.cli.CommandRun;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

@Isolated("It changes what all tests of the JVM see.")
class SimulatedBenchTest {
    @ParameterizedTest
    @CsvSource({"mi300x8, true", "p2.16xlarge, true", "dgx-1p, true", "p3.8xlarge, false", "dgx-h100, false"})
    void gpusThatBanyanDoesNotRunOnAreNamed(String preset, boolean isNamed) {
        assertThat(CommandRun.of("predict -a auto --devices 0,1 -b 1M -e 1M -m " + preset)
                        .out()
                        .contains("\n# Banyan does not run on these GPUs; "))
                .isEqualTo(isNamed);
        assertThat(CommandRun.of("compare --devices 0,1 -m " + preset)
                        .out()
                        .contains("\n# Banyan does not run on these GPUs; "))
                .isEqualTo(isNamed);
    }

    @Test
    void protocolsThatNoSweepShowsApartAreNamedTogether() {
        assertThat(CommandRun.of("predict -a nccl -b 1K -e 64M -f 65536 -m dgx-b200")
                        .out())
                .contains("\n# at these sizes the model of nccl takes LL or LL128 from 1 KiB, NVLS from 64 MiB\n");
        assertThat(CommandRun.of("predict -a nccl -b 1M -e 1M -m mi300x8").out())
                .contains(
                        "\n# nccl: simulated rings and protocols of RCCL by the model of NCCL,",
                        "\n# Python can use exported files (banyan export)\n")
                .doesNotContain("nccl takes");
        assertThat(CommandRun.of("predict -a nccl -b 64M -e 64M -m p3.8xlarge").out())
                .contains(
                        "\n# the model of nccl takes Simple\n",
                        "# Banyan's kernels and graphs serve programs on the JVM");
    }

    @Test
    void theTableIsThatOfNcclTestsWithoutWrongElements() {
        String arguments = "predict --machine p3.8xlarge -b 1K -e 1M -f 32 --algorithm auto,all";
        CommandRun run = CommandRun.of(arguments);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out())
                .contains(
                        "# predicted with profile v100-nvlink, buffers of Communicator.allocateAll (--buffers any:"
                                + " those of other allocators): p3.8xlarge, 4 devices\n",
                        "what to expect",
                        "at no more than 75 GB/s")
                .doesNotContain("#wrong", "Out of bounds");
        assertThat(run.out().lines().filter(line -> !line.startsWith("#")).toList())
                .hasSize(21)
                .allSatisfy(line -> assertThat(line.strip().split("\\s+", -1)).hasSize(10));
        assertThat(CommandRun.of(arguments).out()).isEqualTo(run.out());
    }

    @ParameterizedTest
    @CsvSource({"reduce", "broadcast", "reduce_scatter", "all_gather"})
    void everyCollectiveIsPredicted(String collective) throws Exception {
        JsonNode rows = CommandRun.of(
                        "predict --machine dgx-a100 --devices 0-3 -d half -b 1M -e 1M -a all --format json"
                                + " --collective " + collective)
                .rows();
        assertThat(rows).hasSize(6);
        for (JsonNode row : rows) {
            assertThat(row.has("wrong")).isFalse();
            assertThat(row.get("bytes").asLong() / row.get("timeUs").asDouble() / 1e3)
                    .isCloseTo(row.get("algbwGBs").asDouble(), withPercentage(0.1));
            assertThat(row.get("choice").asText()).isEqualTo(whole(row));
            assertThat(row.get("inPlace").get("timeUs").asDouble()).isPositive();
            assertThat(row.get("timeUs").asDouble())
                    .isBetween(row.get("leastUs").asDouble(), row.get("mostUs").asDouble());
        }
    }

    @Test
    void gradientsNameTheirExecutor() {
        String any = "\n# these times hold for buffers of any allocator\n";
        String ofKernels =
                "# executed by one kernel on each GPU; those of calls in flight run one after another, without"
                        + " waits between them";
        assertThat(CommandRun.of("predict --machine p3.8xlarge --workload lenet-5 -a packing")
                        .out())
                .contains(ofKernels + any);
        assertThat(CommandRun.of("predict --machine dgx-h100 --workload lenet-5 -a auto,ring")
                        .out())
                .containsPattern("# auto takes, for each call alone, [a-z-]+ for [0-9]+ calls?")
                .contains(
                        ofKernels
                                + "\n"
                                + "# the switch adds up in calls of more than 64 KiB by auto (rows \"in the switch\""
                                + " of compare); no",
                        "# kernels copy buffers through a staging buffer in calls of more than 64 KiB by auto: their"
                                + " times assume")
                .doesNotContain(any);
        assertThat(CommandRun.of("predict --machine dgx-h100 --workload lenet-5 -a ring")
                        .out())
                .contains(ofKernels + any)
                .doesNotContain("# the switch", "# auto takes");
        assertThat(CommandRun.of("predict --machine pcie-4 --workload lenet-5 -a packing")
                        .out())
                .contains("# predicted for CUDA graphs of copies and kernels, chunk by chunk; those of calls in flight"
                        + " run at the same time\n"
                        + "# one process that holds all GPUs runs these graphs; several processes")
                .contains(any);
        assertThat(CommandRun.of("predict --machine dgx-h100 -b 4K -e 4M -f 1024 -a packing,ring,one-shot")
                        .out())
                .contains("\n"
                        + "# kernels exchange buffers directly in calls of more than 64 KiB by packing, one-shot"
                        + " out of place: their");
        assertThat(CommandRun.of("predict --machine pcie-4 -b 1M -e 1M -a packing -v")
                        .out())
                .as("constants of kernels have no part in it")
                .contains("without a range, with these constants:", "#   copyEngines ")
                .doesNotContain("#   program.", "#   exchange.", "#   nccl.");
        assertThat(CommandRun.of("predict --machine pcie-4 -b 1M -e 1M -a nccl -v")
                        .out())
                .contains("\n# constants of NCCL's model beside those of the links:\n#   nccl.llBaseUs ");
    }

    /** Buffers that kernels cannot reach are copied, and the choice of auto does not depend on them. */
    @Test
    void otherBuffersTakeLongerWhereKernelsExchange() throws Exception {
        String calls = "predict --machine dgx-h100 -a auto -b 64M -e 64M";
        CommandRun allocated = CommandRun.of(calls);
        CommandRun any = CommandRun.of(calls + " --buffers any");
        assertThat(allocated.out())
                .containsPattern(" 253\\.6 ")
                .contains("of buffers from Communicator.allocateAll; --buf");
        assertThat(any.out())
                .containsPattern(" 405\\.9 ")
                .contains("# auto takes packing\n", "# kernels copy buffers through a staging buffer in calls of more");
        assertThat(CommandRun.of("predict --machine dgx-h100 --workload resnet-50 -a packing")
                        .out())
                .contains("# kernels copy buffers through a staging buffer");
        assertThat(CommandRun.of(calls + " --buffers any --format json")
                        .json()
                        .get("buffers")
                        .asText())
                .isEqualTo("any");
        String slots = "predict --machine p3.16xlarge -a auto -b 64M -e 64M";
        assertThat(CommandRun.of(slots + " --buffers any").out())
                .isEqualTo(CommandRun.of(slots).out());
        assertThat(CommandRun.of(calls + " --buffers any --trace x.json").err()).contains("leave --buffers out");
        assertThat(CommandRun.of(calls + " --buffers mine").err()).contains("--buffers");
    }

    @Test
    void theExecutorIsThatOfMostPredictions() throws Exception {
        String arguments = "predict -b 1M -e 1M -a auto --format json --machine ";
        assertThat(CommandRun.of(arguments + "p3.8xlarge")
                        .json()
                        .get("executor")
                        .asText())
                .isEqualTo("kernel");
        assertThat(CommandRun.of(arguments + "pcie-4").json().get("executor").asText())
                .isEqualTo("graph");
        // The star goes between sockets.
        assertThat(CommandRun.of("predict -b 1M -e 1M -a star --format json --machine p3.16xlarge")
                        .json()
                        .get("executor")
                        .asText())
                .isEqualTo("graph");
    }

    /** Two GPUs move more bytes through the switch than to each other, so that it adds only for three and more. */
    @ParameterizedTest
    @CsvSource({"0-1, false", "0-2, true"})
    void theSwitchAddsForThreeAndMore(String devices, boolean adds) throws Exception {
        String arguments = "predict -b 256M -e 256M -a packing,ring -m dgx-h100 --devices " + devices;
        CommandRun run = CommandRun.of(arguments);
        assertThat(run.out().contains("# the switch adds up in calls of more than 64 KiB by packing;"))
                .isEqualTo(adds);
        assertThat(reproducibly(arguments).out()).doesNotContain("(in the switch)", "adds up");
        JsonNode rows = CommandRun.of(arguments + " --format json").rows();
        assertThat(rows.get(0).get("timeUs").asDouble())
                .isLessThan(1.2 * rows.get(1).get("timeUs").asDouble());
    }

    /** Returns the algorithm of a row with the generator of its trees, as choices name it. */
    private static String whole(JsonNode row) {
        String algorithm = row.get("algorithm").asText();
        return row.has("trees") ? algorithm + "/" + row.get("trees").asText() : algorithm;
    }

    @Test
    void aNumberOfRingsIsPartOfTheName() throws Exception {
        String sweep = "predict --machine p3.8xlarge -b 1M -e 1M --rings 1";
        assertThat(CommandRun.of(sweep + " -a ring").out())
                .contains("# algorithm: ring/1\n")
                .containsPattern("\n#  +ring/1 +[0-9]+%");
        assertThat(CommandRun.of(sweep + " -a ring,star").out()).containsPattern("\n# +size +ring/1 +star");
        assertThat(CommandRun.of(sweep + " -a ring --format json")
                        .rows()
                        .get(0)
                        .get("algorithm")
                        .asText())
                .isEqualTo("ring/1");
        assertThat(CommandRun.of("predict --machine p3.8xlarge --workload lenet-5 -a ring --rings 1")
                        .out())
                .containsPattern("\n +ring/1 +1 ");
    }

    /** Algorithms as tune and the settings name them; --trees and --rings are for those that leave them open. */
    @Test
    void algorithmsHaveTheirParametersInTheirNames() {
        List<String> titles = CommandRun.of("predict --machine pcie-4 -b 1M -e 1M --trees shallow --rings 1"
                        + " -a ring,ring/2,packing/1@8K,multi-tree,multi-tree/exact")
                .out()
                .lines()
                .filter(line -> line.startsWith("# algorithm: "))
                .toList();
        assertThat(titles)
                .containsExactly(
                        "# algorithm: ring/1",
                        "# algorithm: ring/2",
                        "# algorithm: packing/1@8K",
                        "# algorithm: multi-tree (shallow)",
                        "# algorithm: multi-tree (exact)");
    }

    /** Graphs of copies take longer in short chunks. */
    @Test
    void theLongestChunkOfANameIsPredicted() throws Exception {
        JsonNode rows = CommandRun.of("predict -m rtx4090x8 -b 1M -e 1M -a ring@4K,ring@1M --format json")
                .rows();
        assertThat(rows.get(0).get("timeUs").asDouble())
                .isGreaterThan(rows.get(1).get("timeUs").asDouble());
    }

    /** The model of four takes the switch up to some 32 MiB, and rings beyond. */
    @Test
    void sumsInTheSwitchAreNamedWhereSomeSizesTakeThem() {
        assertThat(CommandRun.of("predict -m dgx-h100 -g 4 -a nccl -b 1M -e 1G -f 4")
                        .out())
                .contains(
                        "NVLS from 16 MiB, Simple from",
                        "# nccl: simulated rings and protocols of NCCL and its sums in the switch (NVLS)")
                .contains("the factor for their size\n");
    }

    /** The worst error alone would let 1 GiB take less time than the links need. */
    @Test
    void noRangeOfNcclIsFasterThanTheLinks() {
        assertThat(CommandRun.of("predict -m dgx-a100 -a nccl -b 1G -e 1G").out())
                .contains("the factor for their size, but never exceed 149.143 GB/s of algbw, what copies reach of"
                        + " these links by the profile's constants\n");
    }

    @Test
    void ncclStandsBesideWithItsErrorOfTheClass(@TempDir Path folder) throws Exception {
        Path picture = folder.resolve("sweep.svg");
        String arguments = "predict --machine dgx-a100 -b 1K -e 64M -f 256 -a ring,nccl";
        CommandRun run = CommandRun.of(arguments + " --plot " + picture);
        assertThat(run.out())
                .contains("# algorithm: nccl\n")
                .containsPattern(
                        "# nccl: simulated rings and protocols of NCCL, without its trees, profile a100-nvswitch, a"
                            + " process for each GPU\n"
                            + "# Its median error against 25 rows of 2 published sweeps of all_reduce on 8 GPUs"
                            + " \\(NCCL 2.8 in 24 rows, 2.21 in 1 row\\) is [0-9.]+% of the measured time \\(worst .*;"
                            + " 24 of these rows gave its constants\n")
                .containsPattern("# +size +ring +nccl");
        assertThat(Files.readString(picture))
                .contains("all_reduce on dgx-a100, simulated: time", "ring, nccl, bound of the links");
        JsonNode rows = CommandRun.of(arguments + " --format json").rows();
        assertThat(rows).hasSize(6);
        assertThat(rows.get(3).get("choice").asText()).isEqualTo("nccl/LL");
        assertThat(rows.get(5).get("choice").asText()).isEqualTo("nccl/Simple");
        assertThat(rows.get(5).get("timeUs").asDouble())
                .isEqualTo(rows.get(5).at("/inPlace/timeUs").asDouble());
    }

    @Test
    void graphsAreCutIntoChunksAndHaveNoRange() throws Exception {
        String arguments = "predict --machine dgx-a100 --devices 0-3 -b 1M -e 1M -a all";
        System.setProperty("BANYAN_CUDA_EXECUTOR", "graph");
        try {
            for (JsonNode row : CommandRun.of(arguments + " --format json").rows()) {
                assertThat(row.get("choice").asText()).startsWith(whole(row) + "@");
                assertThat(row.has("leastUs")).isFalse();
            }
            assertThat(CommandRun.of(arguments).out())
                    .contains("chunk by chunk")
                    .doesNotContain("one kernel");
        } finally {
            System.clearProperty("BANYAN_CUDA_EXECUTOR");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "allreduce, 'adds up in calls of more than 64 KiB by packing, star, auto (rows \"in the switch\" of compare)',"
                + " packing",
        "broadcast, 'copies in calls of more than 64 KiB by star, auto', star"
    })
    void workOfTheSwitchIsNamed(String collective, String work, String inSwitch) {
        String arguments =
                "predict -a packing/2,packing,star,auto,ring -b 1M -e 64M --collective " + collective + " -m ";
        assertThat(CommandRun.of(arguments + "dgx-h100").out())
                .contains(
                        "\n# the switch " + work + "; no GPU has run these kernels yet\n",
                        "# algorithm: packing/2\n",
                        "# algorithm: " + inSwitch + " (in the switch)\n",
                        "# algorithm: auto\n",
                        "# algorithm: ring\n");
        assertThat(CommandRun.of(arguments + "dgx-a100").out()).doesNotContain("the switch");
    }

    /** NCCL's rings leave bridged pairs through the host, whose directions hinder each other, as Banyan's rings do. */
    @Test
    void ncclGoesThroughTheHostBetweenBridgedPairs(@TempDir Path folder) throws Exception {
        String links = """
            GPU0 GPU1 GPU2 GPU3
            GPU0 X NV4 PHB PHB
            GPU1 NV4 X PHB PHB
            GPU2 PHB PHB X NV4
            GPU3 PHB PHB NV4 X
            """;
        String access = """
            GPU0 GPU1 GPU2 GPU3
            GPU0 X OK CNS CNS
            GPU1 OK X CNS CNS
            GPU2 CNS CNS X OK
            GPU3 CNS CNS OK X
            """;
        String granted = "predict -b 1G -e 1G --machine " + Files.writeString(folder.resolve("granted.txt"), links);
        String refused =
                "predict -b 1G -e 1G --machine " + Files.writeString(folder.resolve("refused.txt"), links + access);
        assertThat(us(refused + " -a nccl"))
                .isGreaterThan(1.4 * us(granted + " -a nccl"))
                .isCloseTo(us(refused + " -a ring"), withinPercentage(1));
        assertThat(CommandRun.of(granted).out())
                .as("the other algorithms are left out, which is said")
                .contains("# auto alone, as sizes are named and no algorithm; -a all has the others\n");
        assertThat(CommandRun.of(refused + " -a nccl").out())
                .doesNotContain("auto alone")
                .contains("here NCCL goes over NVLinks and through the host's memory, as it did in none of the sweeps")
                .doesNotContain("NCCL_P2P_LEVEL");
        String kernels = "# one process that holds all GPUs runs these graphs; several processes";
        assertThat(CommandRun.of(granted + " -a ring").out()).contains(kernels);
        assertThat(CommandRun.of(refused + " -a ring").out()).doesNotContain(kernels);
        // The trees of the file leave the pairs over different GPUs, as the packed ones do.
        assertThat(CommandRun.of("export --for nccl -m " + folder.resolve("refused.txt"))
                        .err())
                .contains(
                        "chains inside a machine: by the links 24 GB/s algbw",
                        "no gain of these rings is to be expected");
    }

    /** The switch cannot multiply, nor order floats; NCCL lets it order those of 16 bits, and takes no means of it. */
    @ParameterizedTest
    @CsvSource({
        "prod, float, false, false",
        "max, float, false, false",
        "max, half, false, true",
        "avg, half, false, false",
        "avg, float, true, false",
        "min, int32, true, true",
        "sum, int8, false, false"
    })
    void theSwitchTakesPartInWhatItCombines(String op, String type, boolean takesPart, boolean ofNccl)
            throws Exception {
        String arguments = "predict -a packing,nccl -b 256M -e 256M -m dgx-h100";
        double sum = us(arguments);
        String elements = arguments + " -o " + op + " -d " + type;
        CommandRun run = CommandRun.of(elements);
        if (takesPart) {
            assertThat(us(elements)).isEqualTo(sum);
            assertThat(run.out()).contains("the switch adds up").doesNotContain("without the switch");
        } else {
            assertThat(us(elements)).isGreaterThan(1.4 * sum);
            assertThat(run.out()).contains("# predicted without the switch").doesNotContain("the switch adds up");
        }
        double nccl = us("predict -a nccl -b 256M -e 256M -m dgx-h100");
        double other = us("predict -a nccl -b 256M -e 256M -m dgx-h100 -o " + op + " -d " + type);
        if (ofNccl) {
            assertThat(other).isEqualTo(nccl);
        } else {
            assertThat(other).isGreaterThan(1.2 * nccl);
            assertThat(run.out())
                    .contains("No range is known, since the sweeps are of sums of floats, which the switch combines");
        }
    }

    private static double us(String arguments) throws Exception {
        return CommandRun.of(arguments + " --format json")
                .rows()
                .get(0)
                .get("timeUs")
                .asDouble();
    }

    /** Both directions share the way, so that rings keep the bound's rate times {@code host.duplex}. */
    @Test
    void theWayThroughTheHostIsSharedByBothDirections() throws Exception {
        String arguments = "predict --machine rtx4090x8 -b 64M -e 64M -a ring";
        JsonNode row = CommandRun.of(arguments + " --format json").rows().get(0);
        assertThat(row.get("algbwGBs").asDouble() / 13.714).isBetween(0.55, 0.615);
        assertThat(CommandRun.of(arguments).out())
                .contains("\n"
                        + "# No peer access between any two devices: copies between them go through the host, at 16"
                        + " GB/s between CPU sockets. Predicted times of such copies also count that a GPU's PCIe"
                        + " link carries less each way where it sends and receives at once (host.duplex of predict"
                        + " -v); bounds and rates do not\n");
        assertThat(CommandRun.of("predict --machine p3.16xlarge -b 64M -e 64M -a ring")
                        .out())
                .contains(" between CPU sockets; trees and rings over NVLinks alone make no such copies\n");
    }

    /** Their parts take at least as long as the plain sum and a quarter of it, which the bytes are. */
    @Test
    void reproducibleSumsKeepMostOfTheRate() throws Exception {
        checkRate("p3.8xlarge", 0.55, 3);
    }

    @ParameterizedTest
    @Tag("soak")
    @CsvSource({"p3.16xlarge, 0.55, 3", "dgx-h100, 0.6, 1"})
    void reproducibleSumsKeepMostOfTheRateOfLargerMachines(String machine, double least, int collectives)
            throws Exception {
        checkRate(machine, least, collectives);
    }

    /** @param collectives of which a reproducible sum consists */
    private static void checkRate(String machine, double least, int collectives) throws Exception {
        String arguments = "predict --machine " + machine + " -b 256M -e 256M -a auto --format json";
        double plain = CommandRun.of(arguments).rows().get(0).get("timeUs").asDouble();
        JsonNode row = reproducibly(arguments).rows().get(0);
        assertThat(plain / row.get("timeUs").asDouble()).isBetween(least, 0.8);
        assertThat(row.get("timeUs").asDouble())
                .isBetween(row.get("leastUs").asDouble(), row.get("mostUs").asDouble());
        assertThat(row.get("choice").asText().split("\\+")).hasSize(collectives);
    }

    @Test
    void whatIsNoReproducibleSumIsPredictedAsEver() throws Exception {
        String arguments = "predict --machine p3.8xlarge -b 1M -e 1M -a ring --format json";
        for (String call : List.of("-d int32", "-o max", "--collective all_gather")) {
            assertThat(reproducibly(arguments + " " + call).rows())
                    .isEqualTo(CommandRun.of(arguments + " " + call).rows());
        }
    }

    @Test
    void reproducibleSumsSayWhatIsAssumedAndRefused() {
        assertThat(reproducibly("predict --machine p3.8xlarge -b 1M -e 1M -a star,nccl")
                        .out())
                .contains(
                        "one exchange where GPUs load",
                        "an allreduce of one byte an element",
                        "assumed to be as fast as copies")
                .contains("no row of nccl: BANYAN_REPRODUCIBLE asks for results that NCCL does not promise");
        CommandRun product = reproducibly("predict --machine p3.8xlarge -b 1M -e 1M -o prod");
        assertThat(product.err()).contains("products of F32 depend on their order");
        assertThat(product.out()).doesNotContain("redop");
        assertThat(reproducibly("compare --machine p3.8xlarge").err())
                .contains("note: BANYAN_REPRODUCIBLE=1 has no effect here: these times are of plain sums");
        assertThat(reproducibly("predict --machine p3.8xlarge -b 1M -e 1M -a star --trace t.json")
                        .err())
                .contains("--trace shows no passes of reproducible sums; set BANYAN_REPRODUCIBLE to 0");
    }

    /** With all keys in flight only launches overlap. */
    @Test
    void gradientsTakeLongerWithReproducibleSums() throws Exception {
        String arguments = "predict --machine p3.8xlarge --workload lenet-5 -a packing --format json";
        JsonNode plain = CommandRun.of(arguments).rows();
        JsonNode rows = reproducibly(arguments).rows();
        for (int row = 0; row < rows.size(); row++) {
            assertThat(rows.get(row).get("timeMs").asDouble())
                    .isBetween(
                            plain.get(row).get("timeMs").asDouble(),
                            4 * plain.get(row).get("timeMs").asDouble());
        }
        assertThat(rows.get(0).get("timeMs").asDouble())
                .isGreaterThan(rows.get(rows.size() - 1).get("timeMs").asDouble());
    }

    private static CommandRun reproducibly(String arguments) {
        System.setProperty("BANYAN_REPRODUCIBLE", "1");
        try {
            return CommandRun.of(arguments);
        } finally {
            System.clearProperty("BANYAN_REPRODUCIBLE");
        }
    }

    @Test
    void kernelsSayWhichConstantsAreAssumed() {
        CommandRun run = CommandRun.of("predict --machine p3.16xlarge -b 8K -e 8K -a packing -v");
        assertThat(run.out())
                .contains(
                        "executed by one kernel on each GPU; times include 8.1 us (4.7 to 44.3) until all kernels have"
                                + " begun",
                        "program.flagUs 2.3, from 1.5 to 4: assumed as on H100");
    }

    /** In place nothing is copied to an output beforehand, which only some schedules need. */
    @Test
    void timesInPlaceStandWhereTheyDiffer() throws Exception {
        String arguments = "predict --machine p3.8xlarge -b 1M -e 1M -a all --collective ";
        boolean differed = false;
        for (String collective : List.of("all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter")) {
            List<String> lines = CommandRun.of(arguments + collective)
                    .out()
                    .lines()
                    .filter(line -> !line.startsWith("#"))
                    .toList();
            JsonNode rows =
                    CommandRun.of(arguments + collective + " --format json").rows();
            assertThat(lines).hasSize(rows.size());
            for (int i = 0; i < lines.size(); i++) {
                JsonNode row = rows.get(i);
                boolean same = row.get("timeUs").asDouble()
                        == row.at("/inPlace/timeUs").asDouble();
                differed |= !same;
                assertThat(lines.get(i).endsWith(" same")).as(lines.get(i)).isEqualTo(same);
            }
        }
        assertThat(differed).isTrue();
    }

    @Test
    void profilesChangeTheTimes() {
        String arguments = "predict --machine dgx-a100 --devices 0-3 -b 1M -e 1M -a ring";
        CommandRun a100 = CommandRun.of(arguments);
        CommandRun pcie = CommandRun.of(arguments + " --profile pcie");
        assertThat(pcie.out()).contains("profile pcie").isNotEqualTo(a100.out());
    }

    @Test
    void keysOfAWorkloadTakeNcclsTimesOneAfterAnother(@TempDir Path folder) throws Exception {
        Path sizes = Files.writeString(folder.resolve("sizes.txt"), "262144\n262144\n");
        String arguments = "predict --machine p3.8xlarge --format json -a ";
        JsonNode rows =
                CommandRun.of(arguments + "packing,nccl --workload " + sizes).rows();
        assertThat(rows.findValuesAsText("algorithm")).containsExactly("packing", "packing", "nccl");
        assertThat(rows.findValuesAsText("inFlight")).containsExactly("1", "2", "1");
        double callUs = CommandRun.of(arguments + "nccl -b 1M -e 1M")
                .rows()
                .get(0)
                .get("timeUs")
                .asDouble();
        assertThat(rows.get(2).get("timeMs").asDouble()).isEqualTo(2 * callUs / 1e3, within(1e-9));
        assertThat(CommandRun.of("predict --machine p3.8xlarge -a nccl --workload " + sizes)
                        .out())
                .containsPattern("\n +nccl +1 +[0-9.]+ +[0-9.]+\n# nccl: simulated rings")
                .contains("\n# Its calls follow one after another, as its model knows no calls in flight\n");
        CommandRun refused = CommandRun.of("predict --machine mi250x8 -a nccl --workload " + sizes);
        assertThat(refused.status()).isEqualTo(1);
        assertThat(refused.err()).contains("no published sweep of the class of profile");
    }

    @Test
    void workloadsOverlapTheirCalls() throws Exception {
        JsonNode rows = CommandRun.of("predict --machine p3.8xlarge --workload resnet-50 -a packing --format json")
                .rows();
        assertThat(rows.findValuesAsText("inFlight")).containsExactly("1", "50", "157");
        List<Double> times = new ArrayList<>();
        rows.forEach(row -> times.add(row.get("timeMs").asDouble()));
        assertThat(times.get(0)).isGreaterThan(times.get(1));
        assertThat(times.get(1)).isGreaterThan(times.get(2));
    }

    /** Two H100 cards have the profile of boards with NVSwitches, of which all sweeps are. */
    @Test
    void ncclHasNoRangeOnMachinesThatNobodyMeasured(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("cards.txt"), "\tGPU0\tGPU1\nGPU0\tX\tNV12\nGPU1\tNV12\tX\n");
        CommandRun run = CommandRun.of("predict --gpu H100-PCIe -a nccl -b 1G -e 1G -m " + file);
        assertThat(run.out())
                .contains(
                        "profile h100-nvswitch (of GPUs behind an NVSwitch, the nearest)",
                        "No range is known, since these constants are of GPUs behind an NVSwitch")
                .doesNotContain("its ranges");
        assertThat(CommandRun.of("predict -m p3.8xlarge --profile pcie -a nccl -b 1G -e 1G")
                        .out())
                .startsWith("# predicted with profile pcie: ")
                .contains("No range is known, since the profile is not the one that Banyan takes for such a machine");
    }

    @Test
    void theTimeOfATimelineIsThatOfTheTableOrExplained(@TempDir Path folder) {
        String trace = " --trace " + folder.resolve("timeline.json");
        assertThat(CommandRun.of("predict -m p3.8xlarge -b 64M -e 64M -a single-tree" + trace)
                        .out())
                .contains("timeline of the largest size")
                .contains("the timeline is of the whole call, whose time the table extrapolates from shorter ones");
        assertThat(CommandRun.of("predict -m dgx-a100 -b 1M -e 1M -a packing" + trace)
                        .out())
                .contains("slice by slice, through slots, which is slower");
        assertThat(CommandRun.of("predict -m p3.8xlarge -b 64K -e 64K -a ring" + trace)
                        .out())
                .contains("timeline of the largest size")
                .doesNotContain("the timeline is", "the timeline shows");
    }

    @Test
    void theTimelineHasTheCallsTransfers(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("timeline.json");
        CommandRun run =
                CommandRun.of("predict --machine p3.8xlarge -b 4K -e 4M -f 1024 -a multi-tree --trace " + file);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).contains("timeline of the largest size, in place", file.toString());
        JsonNode events = new ObjectMapper().readTree(Files.readString(file)).get("traceEvents");
        List<String> rows = new ArrayList<>();
        long bytes = 0;
        for (JsonNode event : events) {
            if (event.get("name").asText().equals("thread_name")) {
                rows.add(event.get("args").get("name").asText());
            } else if (event.get("name").asText().equals("GPU0 to GPU1")) {
                bytes += event.get("args").get("bytes").asLong();
            }
        }
        assertThat(rows).contains("GPU3", "GPU0 -> GPU1", "GPU1 -> GPU0");
        assertThat(bytes).isBetween(1L << 20, 4L << 20);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "bench --trace t.json|--trace is of the simulator; take 'banyan predict'",
                "bench --profile pcie|--profile is of the simulator; take 'banyan predict'",
                "bench --backend sim|for times of the simulator take 'banyan predict' or 'banyan tune --predict'",
                "tune --backend=sim|for times of the simulator take 'banyan predict' or 'banyan tune --predict'",
                "selftest --backend SIM|for times of the simulator take 'banyan predict' or 'banyan tune --predict'",
                "bench --backend host -a auto,nccl|or take 'banyan predict', which has a model of it",
                "predict -n 3|-n is for measurements",
                "predict --backend host|predict needs no backend; leave --backend out",
                "predict --profile v100|no profile and no file is called 'v100'",
                "predict --trace t.json|name it with --algorithm",
                "predict --workload resnet-50 --trace t.json|name it with --algorithm",
                "predict -a nccl --trace t.json|--algorithm nccl is predicted as a whole call"
            })
    void wrongUsageIsOneSentence(String command, String sentence) {
        CommandRun run = CommandRun.of(command + " --machine p3.16xlarge");
        assertThat(run.status()).as(run.err()).isEqualTo(2);
        assertThat(run.err()).startsWith("banyan: ").contains(sentence);
        assertThat(run.out()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"p3.8xlarge", "pcie-4"})
    void aWinnerIsNamedOnlyWhereRangesDoNotOverlap(String machine) throws Exception {
        winnersDoNotOverlap(machine);
    }

    @Tag("soak")
    @ParameterizedTest
    @MethodSource("dev.banyan.cli.PresetNames#ofAtMost16Devices")
    void winnersDoNotOverlap(String machine) throws Exception {
        marksFollowRanges(machine, "all,nccl", 3);
        int marks = marksFollowRanges(machine, "packing,star", 2);
        if (machine.equals("p3.8xlarge")) {
            assertThat(marks).isPositive();
        }
    }

    @Test
    void aClassWithoutPublishedSweepsHasNoRowOfNccl() {
        assertThat(CommandRun.of("predict --machine mi250x8 --devices 0-3 -b 4K -e 4K -a all,nccl")
                        .out())
                .contains("# there is no row of nccl: no published sweep of the class")
                .doesNotContain("# algorithm: nccl");
    }

    /**
     * Checks that the table marks a size's least time where no range overlaps with its own, and nowhere else.
     *
     * @param heading lines above the times
     * @return the number of marks
     */
    private static int marksFollowRanges(String machine, String algorithms, int heading) throws Exception {
        String arguments = "predict --machine " + machine + " -b 4K -e 4M -f 32 -a " + algorithms;
        Map<Long, List<JsonNode>> bySize = new TreeMap<>();
        CommandRun.of(arguments + " --format json")
                .rows()
                .forEach(row -> bySize.computeIfAbsent(row.get("bytes").asLong(), _ -> new ArrayList<>())
                        .add(row));
        List<String> table = CommandRun.of(arguments)
                .out()
                .lines()
                .dropWhile(line -> !line.startsWith("# predicted time (us)"))
                .skip(heading)
                .limit(bySize.size())
                .toList();
        assertThat(table).hasSize(bySize.size()).allMatch(line -> line.contains("iB "));
        int marks = 0;
        int line = 0;
        for (List<JsonNode> rows : bySize.values()) {
            double least = rows.stream()
                    .mapToDouble(row -> row.get("timeUs").asDouble())
                    .min()
                    .orElseThrow();
            double most = rows.stream()
                    .filter(row -> row.get("timeUs").asDouble() == least)
                    .mapToDouble(row -> row.path("mostUs").asDouble(Double.POSITIVE_INFINITY))
                    .findFirst()
                    .orElseThrow();
            boolean apart = rows.stream()
                    .allMatch(row -> row.get("timeUs").asDouble() == least
                            || row.path("leastUs").asDouble(0) > most);
            assertThat(table.get(line++).contains("*"))
                    .as("%s of %s", rows, machine)
                    .isEqualTo(apart);
            marks += apart ? 1 : 0;
        }
        return marks;
    }
}
