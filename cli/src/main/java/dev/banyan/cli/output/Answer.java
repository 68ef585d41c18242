package dev.banyan.cli.output;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.banyan.config.Config;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The JSON output of a command, described by {@code docs/output.schema.json}: one object that begins with what its
 * figures hold for, and holds its table as {@code rows}.
 */
public final class Answer {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final String ROWS = "rows";

    private Answer() {}

    /**
     * Makes the object.
     *
     * @param command name of the command, without banyan
     * @param version of Banyan
     * @param report rows, or a record with the component {@code rows} and others, which follow the context
     */
    public static JsonNode of(String command, String version, RunContext context, Object report) {
        ObjectNode answer = MAPPER.createObjectNode();
        answer.put("command", command);
        answer.put("version", version);
        answer.setAll((ObjectNode) MAPPER.valueToTree(context));
        answer.set("settings", MAPPER.valueToTree(settings()));
        if (report instanceof List<?> rows) {
            answer.set(ROWS, MAPPER.valueToTree(rows));
        } else {
            answer.setAll((ObjectNode) MAPPER.valueToTree(report));
        }
        return answer;
    }

    /** Settings that some source gives a value, by name. */
    private static Map<String, String> settings() {
        Map<String, String> settings = new TreeMap<>();
        Config.load().entries().stream()
                .filter(entry -> !entry.source().equals("default"))
                .forEach(entry -> settings.put(entry.setting().name(), entry.value()));
        return settings;
    }
}
