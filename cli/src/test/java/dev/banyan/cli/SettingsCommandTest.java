package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class SettingsCommandTest {
    private static final String BEGIN = "<!-- settings: begin -->\n";
    private static final String END = "<!-- settings: end -->";

    @Test
    void printsValuesAndSources() {
        CommandRun run = CommandRun.of("settings");
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out().lines().toList()).first().asString().matches("# name +value +source");
        assertThat(run.out())
                .containsPattern("\n  BANYAN_SEED +1970 +default\n")
                .containsPattern("\n  BANYAN_NVML_LIBRARY +\\S+no-driver +system property\n")
                .doesNotContain("Allowed:");
    }

    @Test
    void explainsSettings() {
        assertThat(CommandRun.of("settings --all").out()).contains("""
              Seeds the tie-breaking choices: the same seed gives the same trees.
              Allowed: a 64-bit integer. Default: 1970.
            """);
    }

    @Test
    void printsJson() throws Exception {
        JsonNode settings = CommandRun.of("settings --format json").rows();
        assertThat(settings.isArray()).isTrue();
        assertThat(settings)
                .filteredOn(setting -> setting.get("name").asText().equals("BANYAN_SEED"))
                .singleElement()
                .asString()
                .isEqualTo("{\"name\":\"BANYAN_SEED\",\"value\":\"1970\",\"source\":\"default\","
                        + "\"defaultValue\":\"1970\",\"allowed\":\"a 64-bit integer\",\"meaning\":\"Seeds the"
                        + " tie-breaking choices: the same seed gives the same trees.\"}");
    }

    @Test
    void theDocumentHasTheTable() throws Exception {
        String document = Files.readString(Path.of("").toAbsolutePath().resolve("../docs/configuration.md"));
        assertThat(document).contains(BEGIN, END);
        assertThat(document.substring(document.indexOf(BEGIN) + BEGIN.length(), document.indexOf(END)))
                .as("the table of settings in docs/configuration.md; replace it by what './banyan settings"
                        + " --format markdown' prints")
                .isEqualTo(CommandRun.of("settings --format markdown").out());
    }
}
