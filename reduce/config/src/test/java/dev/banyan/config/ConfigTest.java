package dev.banyan.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
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
        assertThat(config.get(SampleSettings.FLAG)).isTrue();
        assertThat(config.get(SampleSettings.WORKERS)).isEqualTo(4);
        assertThat(config.get(SampleSettings.PATIENCE)).isEqualTo(Duration.ofSeconds(1));
        assertThat(config.get(SampleSettings.LIBRARY)).isEmpty();
        assertThat(config.find(SampleSettings.WORKERS)).isEmpty();
        assertThat(config.warnings()).isEmpty();
        assertThat(config.entries()).isEqualTo(load(Map.of(), Map.of()).entries());
    }

    @Test
    void readsEveryKind() {
        Config config = load(
                Map.of(),
                Map.of(
                        "MXNET_KVSTORE_TREE_FLAG", "0",
                        "BANYAN_WORKERS", " 3 ",
                        "MXNET_BOUND", "5",
                        "BANYAN_PATIENCE_MS", "250",
                        "BANYAN_LIMIT", "64M",
                        "BANYAN_CHUNK", "512K",
                        "BANYAN_LIBRARY", "lib.so",
                        "PATH", "/bin"));
        assertThat(config.get(SampleSettings.FLAG)).isFalse();
        assertThat(config.get(SampleSettings.WORKERS)).isEqualTo(3);
        assertThat(config.find(SampleSettings.BOUND)).contains(5L);
        assertThat(config.get(SampleSettings.PATIENCE)).isEqualTo(Duration.ofMillis(250));
        assertThat(config.get(SampleSettings.LIMIT)).isEqualTo(64L << 20);
        assertThat(config.get(SampleSettings.CHUNK)).isEqualTo(512 * 1024);
        assertThat(config.get(SampleSettings.LIBRARY)).isEqualTo("lib.so");
        assertThat(config.warnings()).isEmpty();
    }

    @Test
    void builderSetsEveryKind() {
        Config config = Config.builder()
                .set(SampleSettings.FLAG, false)
                .set(SampleSettings.WORKERS, 3)
                .set(SampleSettings.PATIENCE, Duration.ofSeconds(Long.MAX_VALUE))
                .set(SampleSettings.LIMIT, 4L << 20)
                .set(SampleSettings.CHUNK, Long.MAX_VALUE)
                .set("BANYAN_LIBRARY", "lib.so")
                .setAll(Map.of("MXNET_BOUND", "5"))
                .build();
        assertThat(config.get(SampleSettings.FLAG)).isFalse();
        assertThat(config.get(SampleSettings.WORKERS)).isEqualTo(3);
        assertThat(config.get(SampleSettings.PATIENCE)).isEqualTo(Duration.ofMillis(Long.MAX_VALUE));
        assertThat(config.get(SampleSettings.LIMIT)).isEqualTo(4L << 20);
        assertThat(config.get(SampleSettings.CHUNK)).isEqualTo(Long.MAX_VALUE);
        assertThat(config.get(SampleSettings.LIBRARY)).isEqualTo("lib.so");
        assertThat(config.get(SampleSettings.BOUND)).isEqualTo(5);
    }

    @Test
    void higherSourcesWin() throws IOException {
        Files.writeString(
                directory.resolve("banyan.properties"),
                "BANYAN_WORKERS=1\nMXNET_BOUND=1\nBANYAN_PATIENCE_MS=1\nBANYAN_CHUNK=1K\n");
        Config config = Config.builder()
                .set(SampleSettings.WORKERS, 4)
                .load(
                        Map.of("BANYAN_WORKERS", "3", "MXNET_BOUND", "3"),
                        Map.of("BANYAN_WORKERS", "2", "MXNET_BOUND", "2", "BANYAN_PATIENCE_MS", "2"),
                        directory);
        assertThat(config.get(SampleSettings.WORKERS)).isEqualTo(4);
        assertThat(config.get(SampleSettings.BOUND)).isEqualTo(3);
        assertThat(config.get(SampleSettings.PATIENCE)).isEqualTo(Duration.ofMillis(2));
        assertThat(config.get(SampleSettings.CHUNK)).isEqualTo(1024);
        assertThat(config.entries())
                .filteredOn(entry -> entry.setting().name().startsWith("BANYAN_"))
                .extracting(entry -> entry.setting().name() + "=" + entry.value() + " (" + entry.source() + ")")
                .containsExactly(
                        "BANYAN_CHUNK=1K (file " + directory.resolve("banyan.properties") + ")",
                        "BANYAN_CONFIG=banyan.properties if it is there (default)",
                        "BANYAN_LIBRARY=as the loader finds it (default)",
                        "BANYAN_LIMIT=256M (default)",
                        "BANYAN_PATIENCE_MS=2 (environment variable)",
                        "BANYAN_TUNING=banyan-tuned.ini if it is there (default)",
                        "BANYAN_WORKERS=4 (set by the program)");
    }

    @Test
    void settingsCanBeLeftOut() {
        Config config = load(Map.of("BANYAN_WORKERS", "2"), Map.of("BANYAN_LIMIT", "4M"));
        Config without = config.without(List.of(SampleSettings.LIMIT));
        assertThat(without.get(SampleSettings.WORKERS)).isEqualTo(2);
        assertThat(without.find(SampleSettings.LIMIT)).isEmpty();
    }

    @Test
    void theTuningFileOfTheWorkingDirectoryIsFound() throws IOException {
        assertThat(load(Map.of(), Map.of()).find(Config.TUNING)).isEmpty();
        Path file = Files.writeString(directory.resolve("banyan-tuned.ini"), "");
        assertThat(load(Map.of(), Map.of()).find(Config.TUNING)).contains(file);
        assertThat(load(Map.of(), Map.of("BANYAN_TUNING", "other.ini")).find(Config.TUNING))
                .contains(Path.of("other.ini"));
        assertThat(Config.defaults().find(Config.TUNING)).isEmpty();
        Path old = Files.writeString(directory.resolve("banyan-tuned.properties"), "BANYAN_TUNED_DEVICES=4\n");
        assertThat(load(Map.of(), Map.of()).warnings())
                .containsExactly(old + " is of an older banyan tune and has no effect; run banyan tune again, which"
                        + " writes banyan-tuned.ini, and delete it");
    }

    @Test
    void blankCountsAsNone() {
        assertThat(load(Map.of("BANYAN_WORKERS", " "), Map.of("BANYAN_WORKERS", "5"))
                        .get(SampleSettings.WORKERS))
                .isEqualTo(5);
    }

    @Test
    void readsTheNamedFileInsteadOfTheUsualOne() throws IOException {
        Files.writeString(directory.resolve("banyan.properties"), "BANYAN_WORKERS=1\n");
        Path other = Files.writeString(directory.resolve("other.properties"), "BANYAN_WORKERS=2\nseed=3\n");
        Config config = load(Map.of(), Map.of("BANYAN_CONFIG", "other.properties"));
        assertThat(config.get(SampleSettings.WORKERS)).isEqualTo(2);
        assertThat(config.warnings())
                .containsExactly("seed (file " + other
                        + ") is not a setting and has no effect; banyan settings lists all settings");
        assertThat(Config.builder()
                        .set(Config.FILE, other)
                        .load(Map.of(), Map.of(), directory)
                        .get(SampleSettings.WORKERS))
                .isEqualTo(2);
    }

    @Test
    void filesDoNotNameFiles() throws IOException {
        Path file = Files.writeString(directory.resolve("banyan.properties"), "BANYAN_CONFIG=other.properties\n");
        Config config = load(Map.of(), Map.of());
        assertThat(config.find(Config.FILE)).isEmpty();
        assertThat(config.warnings())
                .containsExactly(
                        "BANYAN_CONFIG (file " + file + ") has no effect in a file; make it an environment variable");
    }

    @Test
    void namesTheFileThatCannotBeRead() throws IOException {
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(() -> load(Map.of("BANYAN_CONFIG", "missing.properties"), Map.of()))
                .withMessageContaining("missing.properties")
                .withMessageContaining("BANYAN_CONFIG");
        Files.writeString(directory.resolve("banyan.properties"), "BANYAN_WORKERS=\\uZZZZ\n");
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(() -> load(Map.of(), Map.of()))
                .withMessageContaining("banyan.properties");
        Files.writeString(directory.resolve("banyan.properties"), "BANYAN_WORKERS=x\n");
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(() -> load(Map.of(), Map.of()))
                .withMessageContaining("BANYAN_WORKERS is \"x\" (file " + directory.resolve("banyan.properties") + ")");
    }

    @ParameterizedTest
    @CsvSource({"10M, 10000000", "1e7, 10000000", "2K, 2000", "1G, 1000000000", "1.5M, 1500000"})
    void countsHaveUnits(String text, long elements) {
        assertThat(Config.builder().set("MXNET_BOUND", text).build().get(SampleSettings.BOUND))
                .isEqualTo(elements);
    }

    @Test
    void warnsOfUnknownNamesThatTheProgramSets() {
        assertThat(Config.builder().set("bound", "1").build().warnings())
                .containsExactly(
                        "bound (set by the program) is not a setting and has no effect; banyan settings lists all"
                                + " settings");
    }

    @Test
    void warnsOfASlipInANameOfMxnet() {
        assertThat(load(Map.of(), Map.of("MXNET_KVSTORE_USTREE", "0")).warnings())
                .containsExactly(
                        "MXNET_KVSTORE_USTREE (environment variable) is not a setting and has no effect; did you"
                                + " mean MXNET_KVSTORE_USETREE?");
    }

    @Test
    void warnsOfUnknownNames() {
        Config config = load(
                Map.of("BANYAN_WORKER", "3", "banyan.shared", "x", "BANYAN_OTHER", "1"),
                Map.of(
                        "MXNET_KVSTORE_TREE_FLAGS", "1",
                        "MXNET_KVSTORE_OTHER", "1",
                        "BANYAN_MPI_LIBRARY", "libmpi.so"));
        assertThat(config.warnings())
                .containsExactly(
                        "BANYAN_OTHER (system property) is not a setting and has no effect; banyan settings lists all"
                                + " settings",
                        "BANYAN_WORKER (system property) is not a setting and has no effect; did you mean"
                                + " BANYAN_WORKERS?",
                        "MXNET_KVSTORE_TREE_FLAGS (environment variable) is not a setting and has no effect; did you"
                                + " mean MXNET_KVSTORE_TREE_FLAG?");
    }

    @ParameterizedTest
    @CsvSource({
        "MXNET_KVSTORE_TREE_FLAG, true, 0 or 1",
        "MXNET_KVSTORE_TREE_FLAG, 2, 0 or 1",
        "MXNET_BOUND, -1, 'a whole number of elements, at least 0, e.g. 10M or 1e7'",
        "MXNET_BOUND, 1.5, 'a whole number of elements, at least 0, e.g. 10M or 1e7'",
        "MXNET_BOUND, 1e99999999, 'a whole number of elements, at least 0, e.g. 10M or 1e7'",
        "MXNET_BOUND, M, 'a whole number of elements, at least 0, e.g. 10M or 1e7'",
        "MXNET_BOUND, 99999999999999999999, 'a whole number of elements, at least 0, e.g. 10M or 1e7'",
        "BANYAN_WORKERS, 0, 'a whole number of workers, 1 to 64'",
        "BANYAN_WORKERS, 65, 'a whole number of workers, 1 to 64'",
        "BANYAN_WORKERS, 4294967297, 'a whole number of workers, 1 to 64'",
        "BANYAN_PATIENCE_MS, 0, 'a whole number of milliseconds, at least 1'",
        "BANYAN_LIMIT, 1M, 'a whole number of bytes, at least 2M, e.g. 4M'",
        "BANYAN_LIMIT, auto, 'a whole number of bytes, at least 2M, e.g. 4M'",
        "BANYAN_CHUNK, 63, 'auto, or a whole number of bytes, at least 64, e.g. 4M'",
        "BANYAN_CHUNK, K, 'auto, or a whole number of bytes, at least 64, e.g. 4M'",
        "BANYAN_CHUNK, 9000000000G, 'auto, or a whole number of bytes, at least 64, e.g. 4M'"
    })
    void refusesBadValues(String name, String value, String allowed) {
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(() -> load(Map.of(), Map.of(name, value)))
                .withMessage(name + " is \"" + value + "\" (environment variable); it must be " + allowed);
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(() -> load(Map.of(name, value), Map.of()))
                .withMessageContaining("(system property)");
    }

    @Test
    void refusesBadValuesOfTheProgram() {
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(
                        () -> Config.builder().set(SampleSettings.WORKERS, 65).build())
                .withMessage("BANYAN_WORKERS is \"65\" (set by the program); it must be a whole number of workers,"
                        + " 1 to 64");
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(() -> Config.builder()
                        .set(SampleSettings.PATIENCE, Duration.ofNanos(1))
                        .build());
    }

    @Test
    void loadsFromThisProcess() {
        System.setProperty("BANYAN_WORKERS", "7");
        try {
            assertThat(Config.load().get(SampleSettings.WORKERS)).isEqualTo(7);
            assertThat(SampleSettings.WORKERS.ofProcess()).contains(7);
        } finally {
            System.clearProperty("BANYAN_WORKERS");
        }
        assertThat(SampleSettings.WORKERS.ofProcess()).isEmpty();
    }

    @Test
    void boundsWhatItReadsAndPrints() throws IOException {
        String name = "BANYAN_" + "X".repeat(1 << 20);
        assertThat(load(Map.of(name, "1"), Map.of()).warnings())
                .singleElement()
                .satisfies(warning -> assertThat(warning).hasSizeLessThan(400).startsWith("BANYAN_XXX"));

        Path file = Files.writeString(directory.resolve("banyan.properties"), "\n".repeat(2 << 20));
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(() -> load(Map.of(), Map.of()))
                .withMessage("the properties file " + file
                        + ": it has more than 100000 lines; name another by BANYAN_CONFIG, or mend it");
    }
}
