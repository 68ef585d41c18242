package dev.banyan.schedule.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.banyan.schedule.type.Collective;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ConfigTest {
    @TempDir
    private Path directory;

    private Config load(Map<String, String> properties, Map<String, String> environment) {
        return Config.builder().load(properties, environment, directory);
    }

    @Test
    void defaults() {
        Config config = Config.defaults();
        assertThat(config)
                .isEqualTo(load(Map.of(), Map.of()))
                .isEqualTo(new Config(
                        true,
                        false,
                        OptionalLong.empty(),
                        false,
                        0.7,
                        1_000_000,
                        true,
                        SizeRules.AUTO,
                        Long.MAX_VALUE,
                        Runtime.getRuntime().availableProcessors(),
                        256L << 20,
                        Duration.ofMinutes(10),
                        1970,
                        false,
                        256 * 1024,
                        4,
                        false,
                        Optional.empty(),
                        List.of()));
    }

    @Test
    void readsEverySetting() {
        Config config = load(
                Map.of(),
                Map.ofEntries(
                        Map.entry("MXNET_KVSTORE_USETREE", "0"),
                        Map.entry("MXNET_KVSTORE_LOGTREE", "1"),
                        Map.entry("MXNET_KVSTORE_TREE_ARRAY_BOUND", "5"),
                        Map.entry("MXNET_KVSTORE_TREE_BACKTRACK", "1"),
                        Map.entry("MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY", " 0.5 "),
                        Map.entry("MXNET_KVSTORE_BIGARRAY_BOUND", "6"),
                        Map.entry("MXNET_ENABLE_GPU_P2P", "0"),
                        Map.entry("BANYAN_ALGORITHM", "multi-tree"),
                        Map.entry("BANYAN_CHUNK_BYTES", "512K"),
                        Map.entry("BANYAN_THREADS", "3"),
                        Map.entry("BANYAN_TIMEOUT_MS", "250"),
                        Map.entry("BANYAN_SEED", "-9"),
                        Map.entry("BANYAN_REPRODUCIBLE", "1"),
                        Map.entry("BANYAN_FUSION_BYTES", "off"),
                        Map.entry("BANYAN_OUTSTANDING", "7"),
                        Map.entry("BANYAN_CHECK_ORDER", "1"),
                        Map.entry("BANYAN_MPI_LIBRARY", "libmpi.so"),
                        Map.entry("BANYAN_JAVA_OPTS", "-Xmx1g"),
                        Map.entry("BANYAN_BUFFER_LIMIT", "64M"),
                        Map.entry("BANYAN_NVML_LIBRARY", "libnvidia-ml.so"),
                        Map.entry("PATH", "/bin")));
        assertThat(config)
                .isEqualTo(new Config(
                        false,
                        true,
                        OptionalLong.of(5),
                        true,
                        0.5,
                        6,
                        false,
                        SizeRules.always(AlgorithmConfig.of(AlgorithmChoice.MULTI_TREE)),
                        512 * 1024,
                        3,
                        64L << 20,
                        Duration.ofMillis(250),
                        -9,
                        true,
                        0,
                        7,
                        true,
                        Optional.empty(),
                        List.of()));
    }

    @Test
    void builderSetsEverySetting() {
        Config config = Config.builder()
                .useTree(false)
                .logTree(true)
                .treeArrayBound(5)
                .treeBacktrack(true)
                .linkUsagePenalty(0.5)
                .bigArrayBound(6)
                .gpuPeerAccess(false)
                .algorithm(AlgorithmChoice.RING)
                .chunkBytes(128)
                .threads(3)
                .bufferLimit(4 << 20)
                .timeout(Duration.ofSeconds(1))
                .seed(7)
                .reproducible(true)
                .fusionBytes(4096)
                .outstanding(7)
                .checkOrder(true)
                .build();
        assertThat(config)
                .isEqualTo(new Config(
                        false,
                        true,
                        OptionalLong.of(5),
                        true,
                        0.5,
                        6,
                        false,
                        SizeRules.always(AlgorithmConfig.of(AlgorithmChoice.RING)),
                        128,
                        3,
                        4L << 20,
                        Duration.ofSeconds(1),
                        7,
                        true,
                        4096,
                        7,
                        true,
                        Optional.empty(),
                        List.of()));
        assertThat(Config.builder().chunkBytes(Long.MAX_VALUE).build().chunkBytes())
                .isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void higherSourcesWin() throws IOException {
        Files.writeString(
                directory.resolve("banyan.properties"),
                "BANYAN_THREADS=1\nBANYAN_SEED=1\nBANYAN_TIMEOUT_MS=1\nBANYAN_CHUNK_BYTES=1K\n");
        Config config = Config.builder()
                .threads(4)
                .load(
                        Map.of("BANYAN_THREADS", "3", "BANYAN_SEED", "3"),
                        Map.of("BANYAN_THREADS", "2", "BANYAN_SEED", "2", "BANYAN_TIMEOUT_MS", "2"),
                        directory);
        assertThat(config.threads()).isEqualTo(4);
        assertThat(config.seed()).isEqualTo(3);
        assertThat(config.timeout()).isEqualTo(Duration.ofMillis(2));
        assertThat(config.chunkBytes()).isEqualTo(1024);
    }

    @Test
    void blankCountsAsNone() {
        assertThat(load(Map.of("BANYAN_SEED", " "), Map.of("BANYAN_SEED", "4")).seed())
                .isEqualTo(4);
    }

    @Test
    void readsTheNamedFileInsteadOfTheUsualOne() throws IOException {
        Files.writeString(directory.resolve("banyan.properties"), "BANYAN_SEED=1\n");
        Path other = Files.writeString(directory.resolve("other.properties"), "BANYAN_SEED=2\nseed=3\n");
        Config config = load(Map.of(), Map.of("BANYAN_CONFIG", "other.properties"));
        assertThat(config.seed()).isEqualTo(2);
        assertThat(config.warnings())
                .singleElement()
                .asString()
                .startsWith("seed (file " + other + ") is not a setting")
                .contains("BANYAN_SEED");
        assertThat(Config.builder()
                        .file(other)
                        .load(Map.of(), Map.of(), directory)
                        .seed())
                .isEqualTo(2);
    }

    @Test
    void namesTheFileThatCannotBeRead() throws IOException {
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(() -> load(Map.of("BANYAN_CONFIG", "missing.properties"), Map.of()))
                .withMessageContaining("missing.properties")
                .withMessageContaining("BANYAN_CONFIG");
        Files.writeString(directory.resolve("banyan.properties"), "BANYAN_SEED=\\uZZZZ\n");
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(() -> load(Map.of(), Map.of()))
                .withMessageContaining("banyan.properties");
        Files.writeString(directory.resolve("banyan.properties"), "BANYAN_SEED=x\n");
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(() -> load(Map.of(), Map.of()))
                .withMessageContaining("BANYAN_SEED is \"x\" (file " + directory.resolve("banyan.properties") + ")");
    }

    @Test
    void warnsOfUnknownNames() {
        Config config = load(
                Map.of("BANYAN_THREAD", "3", "banyan.shared", "x"),
                Map.of("MXNET_KVSTORE_TREE_ARRAY_BOUNDS", "1", "MXNET_KVSTORE_OTHER", "1"));
        assertThat(config.warnings()).hasSize(2);
        assertThat(config.warnings().get(0)).startsWith("BANYAN_THREAD (system property)");
        assertThat(config.warnings().get(1)).startsWith("MXNET_KVSTORE_TREE_ARRAY_BOUNDS (environment variable)");
    }

    @Test
    void readsAlgorithmsBySize() {
        SizeRules rules = load(Map.of("BANYAN_ALGORITHM", "star:4K, single-tree@64K:1M, packing/8@1000:1G"), Map.of())
                .algorithm();
        assertThat(rules).hasToString("star:4K,single-tree@64K:1M,packing/8@1000:1G,auto");
        assertThat(rules.of(4096)).isEqualTo(AlgorithmConfig.of(AlgorithmChoice.STAR));
        assertThat(rules.of(4097))
                .isEqualTo(new AlgorithmConfig(AlgorithmChoice.SINGLE_TREE, Integer.MAX_VALUE, 65536));
        assertThat(rules.of(1 << 30)).isEqualTo(new AlgorithmConfig(AlgorithmChoice.PACKING, 8, 1000));
        assertThat(rules.of((1 << 30) + 1L)).isEqualTo(AlgorithmConfig.of(AlgorithmChoice.AUTO));
        assertThat(SizeRules.parse(rules.toString())).isEqualTo(rules);
        assertThat(Config.builder().algorithm(rules).build().algorithm()).isEqualTo(rules);
    }

    @Test
    void readsWhatWasTunedFromItsOwnFile() throws IOException {
        Tuning tuning =
                new Tuning("a b", 4, "0123abcd", Map.of(Collective.ALL_REDUCE, SizeRules.parse("star:4K,packing@64K")));
        StringBuilder text = new StringBuilder();
        tuning.settings()
                .forEach((name, value) ->
                        text.append(name).append('=').append(value).append('\n'));
        Files.writeString(directory.resolve("banyan-tuned.properties"), text + "BANYAN_SEED=4\nBANYAN_THREADS=4\n");
        Files.writeString(directory.resolve("banyan.properties"), "BANYAN_THREADS=3\n");
        Config config = load(Map.of(), Map.of());
        assertThat(config.tuning()).contains(tuning);
        assertThat(config.seed()).isEqualTo(4);
        assertThat(config.threads()).isEqualTo(3);
        assertThat(config.warnings()).isEmpty();
        assertThat(Config.builder().tuning(tuning).build().tuning()).contains(tuning);
        assertThat(load(Map.of("BANYAN_CONFIG", "banyan-tuned.properties"), Map.of())
                        .tuning())
                .contains(tuning);
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(() -> load(Map.of("BANYAN_TUNED_MACHINE", "other"), Map.of()))
                .withMessageStartingWith("BANYAN_TUNED_DEVICES is missing (system property)");
    }

    @ParameterizedTest
    @CsvSource({
        "MXNET_KVSTORE_USETREE, true, 0 or 1",
        "MXNET_KVSTORE_LOGTREE, 2, 0 or 1",
        "MXNET_KVSTORE_TREE_BACKTRACK, yes, 0 or 1",
        "MXNET_ENABLE_GPU_P2P, -1, 0 or 1",
        "MXNET_KVSTORE_TREE_ARRAY_BOUND, -1, at least 0",
        "MXNET_KVSTORE_TREE_ARRAY_BOUND, 1e7, a whole number of elements",
        "MXNET_KVSTORE_BIGARRAY_BOUND, 99999999999999999999, at least 0",
        "MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY, 0, 'above 0, at most 1'",
        "MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY, 1.01, 'above 0, at most 1'",
        "MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY, NaN, 'above 0, at most 1'",
        "BANYAN_ALGORITHM, nccl, 'auto, single-tree, multi-tree, packing, ring, star'",
        "BANYAN_ALGORITHM, 'star:4K,ring:2K', a list by size",
        "BANYAN_ALGORITHM, star/3, a list by size",
        "BANYAN_ALGORITHM, packing/0, a list by size",
        "BANYAN_ALGORITHM, packing@16, a list by size",
        "BANYAN_ALGORITHM, 'ring,star', a list by size",
        "BANYAN_ALGORITHM, 'ring:,star', a list by size",
        "BANYAN_CHUNK_BYTES, 63, at least 64",
        "BANYAN_CHUNK_BYTES, K, at least 64",
        "BANYAN_CHUNK_BYTES, 9000000000G, at least 64",
        "BANYAN_THREADS, 0, 1 to 4096",
        "BANYAN_THREADS, 4097, 1 to 4096",
        "BANYAN_TIMEOUT_MS, 0, at least 1",
        "BANYAN_SEED, a, a 64-bit integer"
    })
    void refusesBadValues(String name, String value, String allowed) {
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(() -> load(Map.of(), Map.of(name, value)))
                .withMessageStartingWith(name + " is \"" + value + "\" (environment variable); it must be ")
                .withMessageContaining(allowed);
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(() -> load(Map.of(name, value), Map.of()))
                .withMessageContaining("(system property)");
    }

    @Test
    void refusesBadValuesOfTheProgram() {
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(() -> Config.builder().linkUsagePenalty(1.5).build())
                .withMessage("MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY is \"1.5\" (set by the program); it must be"
                        + " a number above 0, at most 1");
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(() -> Config.builder().timeout(Duration.ofNanos(1)).build());
    }

    @Test
    void loadsFromThisProcess() {
        System.setProperty("MXNET_KVSTORE_BIGARRAY_BOUND", "77");
        try {
            assertThat(Config.load().bigArrayBound()).isEqualTo(77);
        } finally {
            System.clearProperty("MXNET_KVSTORE_BIGARRAY_BOUND");
        }
    }
}
