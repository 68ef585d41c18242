package dev.banyan.schedule.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.banyan.config.Config;
import dev.banyan.config.ConfigException;
import dev.banyan.schedule.type.Collective;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TuningTest {
    @TempDir
    private Path directory;

    private Config load(Map<String, String> properties) {
        return Config.builder().load(properties, Map.of(), directory);
    }

    @Test
    void readsAlgorithmsBySize() {
        SizeRules rules = load(Map.of("BANYAN_ALGORITHM", "star:4K, single-tree@64K:1M, packing/8@1000:1G"))
                .get(Planner.ALGORITHM);
        assertThat(rules).hasToString("star:4K,single-tree@64K:1M,packing/8@1000:1G,auto");
        assertThat(rules.of(4096)).isEqualTo(AlgorithmConfig.of(AlgorithmChoice.STAR));
        assertThat(rules.of(4097))
                .isEqualTo(new AlgorithmConfig(AlgorithmChoice.SINGLE_TREE, Integer.MAX_VALUE, 65536));
        assertThat(rules.of(1 << 30)).isEqualTo(new AlgorithmConfig(AlgorithmChoice.PACKING, 8, 1000));
        assertThat(rules.of((1 << 30) + 1L)).isEqualTo(AlgorithmConfig.of(AlgorithmChoice.AUTO));
        assertThat(SizeRules.parse(rules.toString())).isEqualTo(rules);
        assertThat(Config.builder().set(Planner.ALGORITHM, rules).build().get(Planner.ALGORITHM))
                .isEqualTo(rules);
    }

    @Test
    void readsWhatWasTunedFromItsOwnFile() throws IOException {
        Tuning tuning =
                new Tuning("a b", 4, "0123abcd", Map.of(Collective.ALL_REDUCE, SizeRules.parse("star:4K,packing@64K")));
        StringBuilder text = new StringBuilder();
        tuning.settings()
                .forEach((name, value) ->
                        text.append(name).append('=').append(value).append('\n'));
        Files.writeString(
                directory.resolve("banyan-tuned.properties"), text + "BANYAN_SEED=4\nBANYAN_CHUNK_BYTES=4K\n");
        Files.writeString(directory.resolve("banyan.properties"), "BANYAN_CHUNK_BYTES=3K\n");
        Config config = load(Map.of());
        assertThat(Tuning.of(config)).contains(tuning);
        assertThat(Tuning.of(config.without(Tuning.SETTINGS))).isEmpty();
        assertThat(config.get(Algorithms.SEED)).isEqualTo(4);
        assertThat(config.get(Planner.CHUNK_BYTES)).isEqualTo(3 << 10);
        assertThat(config.warnings()).isEmpty();
        assertThat(Tuning.of(Config.builder().setAll(tuning.settings()).build()))
                .contains(tuning);
        assertThat(Tuning.of(load(Map.of("BANYAN_CONFIG", "banyan-tuned.properties"))))
                .contains(tuning);
        assertThatExceptionOfType(ConfigException.class)
                .isThrownBy(() -> load(Map.of("BANYAN_TUNED_MACHINE", "other")))
                .withMessage("BANYAN_TUNED_DEVICES is missing (system property) beside other BANYAN_TUNED_ settings;"
                        + " let banyan tune write them all");
    }
}
