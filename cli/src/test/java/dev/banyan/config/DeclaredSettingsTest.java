package dev.banyan.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.SizeRules;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The settings of all modules, which are on the command's class path. */
class DeclaredSettingsTest {
    private static final List<String> ALWAYS_THERE = List.of("dev.banyan.config", "dev.banyan.schedule.plan");

    @TempDir
    private Path directory;

    private Config load(Map<String, String> environment) {
        return Config.builder().load(Map.of(), environment, directory);
    }

    private static Stream<Setting<?>> settings() {
        return Config.defaults().entries().stream().map(Config.Entry::setting);
    }

    private static Stream<SettingProvider> providers() {
        return ServiceLoader.load(SettingProvider.class).stream().map(ServiceLoader.Provider::get);
    }

    private static Map<String, Object> values(Config config) {
        return settings().collect(Collectors.toMap(Setting::name, config::get));
    }

    @Test
    void namesAreUnique() {
        List<String> names = providers()
                .flatMap(provider -> provider.settings().stream())
                .map(Setting::name)
                .toList();
        assertThat(names).doesNotHaveDuplicates().doesNotContain(Config.FILE.name(), Config.TUNING.name());
        assertThat(settings().map(Setting::name)).containsAll(names).hasSize(names.size() + 2);
    }

    @ParameterizedTest
    @MethodSource("settings")
    <T> void everySettingHasAMeaningAndAValidDefault(Setting<T> setting) {
        assertThat(setting.meaning()).matches("[A-Z][^|]*\\.");
        assertThat(setting.allowed()).isNotBlank().doesNotEndWith(".").doesNotContain("|");
        assertThat(setting.defaultText()).isNotBlank().doesNotContain("|");
        String text = setting.printer().apply(setting.defaultValue());
        assertThat(setting.parse(text, "default")).isEqualTo(setting.defaultValue());
    }

    @Test
    void nobodyIsWarnedOfSettingsOfOptionalModules() {
        assertThat(providers()
                        .filter(provider ->
                                !ALWAYS_THERE.contains(provider.getClass().getPackageName()))
                        .flatMap(provider -> provider.settings().stream())
                        .map(Setting::name))
                .containsExactlyInAnyOrderElementsOf(UnknownNames.ELSEWHERE);
    }

    /** Whoever wrote the working directory must not choose code that runs. */
    @Test
    void noFileOfSettingsNamesALibraryOrACommand() throws IOException {
        List<Setting<?>> naming = settings()
                .filter(setting -> setting.name().matches(".*_(LIBRARY|COMMAND|HOME|OPTS)"))
                .toList();
        assertThat(naming)
                .extracting(Setting::name)
                .contains("BANYAN_MPI_LIBRARY", "BANYAN_NCCL_LIBRARY", "BANYAN_NVML_LIBRARY");
        Files.writeString(
                directory.resolve("banyan.properties"),
                naming.stream().map(setting -> setting.name() + "=/tmp/other\n").collect(Collectors.joining()));
        Config config = load(Map.of());
        for (Setting<?> setting : naming) {
            assertThat(config.find(setting)).as(setting.name()).isEmpty();
            assertThat(config.warnings())
                    .anyMatch(warning ->
                            warning.startsWith(setting.name()) && warning.contains("has no effect in a file"));
        }
    }

    @Test
    void defaults() {
        Map<String, Object> values = values(Config.defaults());
        // Its type is not public.
        values.computeIfPresent("BANYAN_CUDA_EXECUTOR", (_, choice) -> choice.toString());
        assertThat(values)
                .containsExactlyInAnyOrderEntriesOf(Map.ofEntries(
                        Map.entry("MXNET_KVSTORE_USETREE", true),
                        Map.entry("MXNET_KVSTORE_LOGTREE", false),
                        Map.entry("MXNET_KVSTORE_TREE_ARRAY_BOUND", 10_000_000L),
                        Map.entry("MXNET_KVSTORE_TREE_BACKTRACK", false),
                        Map.entry("MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY", 0.7),
                        Map.entry("MXNET_KVSTORE_BIGARRAY_BOUND", 1_000_000L),
                        Map.entry("MXNET_ENABLE_GPU_P2P", true),
                        Map.entry("BANYAN_ALGORITHM", SizeRules.AUTO),
                        Map.entry("BANYAN_CHUNK_BYTES", Long.MAX_VALUE),
                        Map.entry("BANYAN_THREADS", Runtime.getRuntime().availableProcessors()),
                        Map.entry("BANYAN_BUCKET_BYTES", 25L << 20),
                        Map.entry("BANYAN_BUFFER_LIMIT", 256L << 20),
                        Map.entry("BANYAN_PEER_TRIAL", true),
                        Map.entry("BANYAN_CUDA_EXECUTOR", "auto"),
                        Map.entry("BANYAN_CUDA_LAUNCH_THREADS", 0),
                        Map.entry("BANYAN_TIMEOUT_MS", Duration.ofMinutes(10)),
                        Map.entry("BANYAN_SEED", 1970L),
                        Map.entry("BANYAN_REPRODUCIBLE", false),
                        Map.entry("BANYAN_FUSION_BYTES", 256L * 1024),
                        Map.entry("BANYAN_OUTSTANDING", 4),
                        Map.entry("BANYAN_CHECK_ORDER", false),
                        Map.entry("BANYAN_MPI_DEVICE_MEMORY", false),
                        Map.entry("BANYAN_RANK", 0),
                        Map.entry("BANYAN_RENDEZVOUS", ""),
                        Map.entry("BANYAN_SHARED_MEMORY", true),
                        Map.entry("BANYAN_WORLD_SIZE", 1),
                        Map.entry("BANYAN_CONFIG", Path.of("")),
                        Map.entry("BANYAN_TUNING", Path.of("")),
                        Map.entry("BANYAN_MPI_LIBRARY", ""),
                        Map.entry("BANYAN_NCCL_LIBRARY", ""),
                        Map.entry("BANYAN_NVML_LIBRARY", ""),
                        Map.entry("BANYAN_JAVA_HOME", ""),
                        Map.entry("BANYAN_JAVA_OPTS", "")));
    }

    @Test
    void readsEverySetting() {
        Map<String, String> environment = Map.ofEntries(
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
                Map.entry("BANYAN_MPI_DEVICE_MEMORY", "1"),
                Map.entry("BANYAN_MPI_LIBRARY", "libmpi.so"),
                Map.entry("BANYAN_JAVA_OPTS", "-Xmx1g"),
                Map.entry("BANYAN_BUCKET_BYTES", "1M"),
                Map.entry("BANYAN_BUFFER_LIMIT", "64M"),
                Map.entry("BANYAN_PEER_TRIAL", "0"),
                Map.entry("BANYAN_RANK", "5"),
                Map.entry("BANYAN_RENDEZVOUS", "/tmp/job"),
                Map.entry("BANYAN_SHARED_MEMORY", "0"),
                Map.entry("BANYAN_WORLD_SIZE", "8"),
                Map.entry("BANYAN_NCCL_LIBRARY", "libnccl.so"),
                Map.entry("BANYAN_NVML_LIBRARY", "libnvidia-ml.so"));
        Config config = load(environment);
        assertThat(config.warnings()).isEmpty();
        assertThat(values(config))
                .containsAllEntriesOf(Map.ofEntries(
                        Map.entry("MXNET_KVSTORE_USETREE", false),
                        Map.entry("MXNET_KVSTORE_LOGTREE", true),
                        Map.entry("MXNET_KVSTORE_TREE_ARRAY_BOUND", 5L),
                        Map.entry("MXNET_KVSTORE_TREE_BACKTRACK", true),
                        Map.entry("MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY", 0.5),
                        Map.entry("MXNET_KVSTORE_BIGARRAY_BOUND", 6L),
                        Map.entry("MXNET_ENABLE_GPU_P2P", false),
                        Map.entry("BANYAN_ALGORITHM", SizeRules.always(AlgorithmChoice.MULTI_TREE)),
                        Map.entry("BANYAN_CHUNK_BYTES", 512L * 1024),
                        Map.entry("BANYAN_THREADS", 3),
                        Map.entry("BANYAN_TIMEOUT_MS", Duration.ofMillis(250)),
                        Map.entry("BANYAN_SEED", -9L),
                        Map.entry("BANYAN_REPRODUCIBLE", true),
                        Map.entry("BANYAN_FUSION_BYTES", 0L),
                        Map.entry("BANYAN_OUTSTANDING", 7),
                        Map.entry("BANYAN_CHECK_ORDER", true),
                        Map.entry("BANYAN_MPI_DEVICE_MEMORY", true),
                        Map.entry("BANYAN_MPI_LIBRARY", "libmpi.so"),
                        Map.entry("BANYAN_JAVA_OPTS", "-Xmx1g"),
                        Map.entry("BANYAN_BUCKET_BYTES", 1L << 20),
                        Map.entry("BANYAN_BUFFER_LIMIT", 64L << 20),
                        Map.entry("BANYAN_PEER_TRIAL", false),
                        Map.entry("BANYAN_RANK", 5),
                        Map.entry("BANYAN_RENDEZVOUS", "/tmp/job"),
                        Map.entry("BANYAN_SHARED_MEMORY", false),
                        Map.entry("BANYAN_WORLD_SIZE", 8),
                        Map.entry("BANYAN_NCCL_LIBRARY", "libnccl.so"),
                        Map.entry("BANYAN_NVML_LIBRARY", "libnvidia-ml.so")));
    }

    @ParameterizedTest
    @CsvSource({
        "MXNET_KVSTORE_USETREE, true, 0 or 1",
        "MXNET_KVSTORE_LOGTREE, 2, 0 or 1",
        "MXNET_KVSTORE_TREE_BACKTRACK, yes, 0 or 1",
        "MXNET_ENABLE_GPU_P2P, -1, 0 or 1",
        "MXNET_KVSTORE_TREE_ARRAY_BOUND, -1, at least 0",
        "MXNET_KVSTORE_TREE_ARRAY_BOUND, 1e7.5, a whole number of elements",
        "MXNET_KVSTORE_BIGARRAY_BOUND, 99999999999999999999, at least 0",
        "MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY, 0, 'above 0, at most 1'",
        "MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY, 1.01, 'above 0, at most 1'",
        "MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY, NaN, 'above 0, at most 1'",
        "BANYAN_ALGORITHM, rccl, 'auto, single-tree, multi-tree, packing, ring, star'",
        "BANYAN_ALGORITHM, 'star:4K,ring:2K', a list by size",
        "BANYAN_ALGORITHM, star/3, a list by size",
        "BANYAN_ALGORITHM, packing/0, a list by size",
        "BANYAN_ALGORITHM, packing@16, a list by size",
        "BANYAN_ALGORITHM, 'ring,star', a list by size",
        "BANYAN_ALGORITHM, 'ring:,star', a list by size",
        "BANYAN_CHUNK_BYTES, 63, at least 64",
        "BANYAN_CHUNK_BYTES, K, at least 64",
        "BANYAN_CHUNK_BYTES, 9000000000G, at least 64",
        "BANYAN_BUCKET_BYTES, 63, at least 64",
        "BANYAN_BUFFER_LIMIT, 1M, at least 2M",
        "BANYAN_FUSION_BYTES, 63, at least 64",
        "BANYAN_OUTSTANDING, 65, 1 to 64",
        "BANYAN_THREADS, 0, 1 to 4096",
        "BANYAN_THREADS, 4097, 1 to 4096",
        "BANYAN_TIMEOUT_MS, 0, at least 1",
        "BANYAN_SEED, a, a 64-bit integer"
    })
    void refusesBadValues(String name, String value, String allowed) {
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(() -> load(Map.of(name, value)))
                .withMessageStartingWith(name + " is \"" + value + "\" (environment variable); it must be ")
                .withMessageContaining(allowed);
    }

    @Test
    void suggestsTheNameThatWasMeant() {
        assertThat(load(Map.of("BANYAN_THREAD", "3", "MXNET_KVSTORE_TREE_ARRAY_BOUNDS", "1"))
                        .warnings())
                .containsExactly(
                        "BANYAN_THREAD (environment variable) is not a setting and has no effect; did you mean"
                                + " BANYAN_THREADS?",
                        "MXNET_KVSTORE_TREE_ARRAY_BOUNDS (environment variable) is not a setting and has no effect;"
                                + " did you mean MXNET_KVSTORE_TREE_ARRAY_BOUND?");
    }
}
