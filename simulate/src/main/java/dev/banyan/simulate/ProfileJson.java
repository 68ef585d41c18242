package dev.banyan.simulate;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Profiles as JSON: {@code {"profile": "name", "constants": {"nvlink.efficiency": {"value": 0.97, "source":
 * "..."}, ...}}} with every {@link Constant} by its key. Safe for use from any thread.
 */
public final class ProfileJson {
    private static final JsonMapper MAPPER = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .disable(JsonParser.Feature.INCLUDE_SOURCE_IN_LOCATION)
            .build();
    private static final int LONGEST_QUOTE = 40;

    private ProfileJson() {}

    /**
     * Reads a file.
     *
     * @throws ProfileException if it can't be read, or is no profile
     */
    public static Profile read(Path file) {
        try {
            return parse(file.toString(), Files.readString(file));
        } catch (NoSuchFileException e) {
            throw new ProfileException(file.toString(), "there is no such file; name the JSON file of a profile");
        } catch (IOException e) {
            throw new ProfileException(file.toString(), "can't be read as text in UTF-8 (" + e.getMessage() + ")");
        }
    }

    /**
     * Reads a text.
     *
     * @param source what to call the text in messages, e.g. the file's name
     * @throws ProfileException if it is no profile
     */
    public static Profile parse(String source, String text) {
        JsonNode whole;
        try {
            whole = MAPPER.readTree(text);
        } catch (JsonProcessingException e) {
            String place = e.getLocation() == null
                    ? ""
                    : " at line " + e.getLocation().getLineNr() + ", column "
                            + e.getLocation().getColumnNr();
            throw new ProfileException(
                    source,
                    "is no JSON" + place + ": "
                            + e.getOriginalMessage().lines().findFirst().orElse(""));
        }
        checkKeys(source, "the profile", whole, "profile", "constants");
        JsonNode name = need(source, whole, "profile", "a name");
        if (!name.isTextual()) {
            throw new ProfileException(source, "key \"profile\" is " + quote(name) + "; it must be a name");
        }
        JsonNode constants = need(source, whole, "constants", "an object with a value for every constant");
        checkKeys(
                source,
                "\"constants\"",
                constants,
                Arrays.stream(Constant.values()).map(Constant::key).toArray(String[]::new));
        Map<Constant, Profile.Value> values = new EnumMap<>(Constant.class);
        for (Constant constant : Constant.values()) {
            values.put(constant, value(source, constants, constant));
        }
        return new Profile(name.textValue(), values);
    }

    private static Profile.Value value(String source, JsonNode constants, Constant constant) {
        JsonNode entry = need(source, constants, constant.key(), "{\"value\": number, \"source\": text}");
        String what = "\"" + constant.key() + "\"";
        checkKeys(source, what, entry, "value", "source");
        JsonNode number = entry.path("value");
        if (!number.isNumber() || !constant.allows(number.doubleValue())) {
            throw new ProfileException(
                    source, "\"value\" of " + what + " is " + quote(number) + "; it must be " + constant.allowed());
        }
        JsonNode origin = entry.path("source");
        if (!origin.isTextual() || origin.textValue().isBlank()) {
            throw new ProfileException(
                    source, "\"source\" of " + what + " is " + quote(origin) + "; say where the value comes from");
        }
        return new Profile.Value(number.doubleValue(), origin.textValue());
    }

    private static JsonNode need(String source, JsonNode parent, String key, String remedy) {
        JsonNode node = parent.get(key);
        if (node == null) {
            throw new ProfileException(source, "key \"" + key + "\" is missing; add it with " + remedy);
        }
        return node;
    }

    private static void checkKeys(String source, String what, JsonNode node, String... known) {
        if (!node.isObject()) {
            throw new ProfileException(
                    source,
                    what + " is " + quote(node) + "; it must be an object with the keys " + String.join(", ", known));
        }
        for (String key : (Iterable<String>) node::fieldNames) {
            if (!Arrays.asList(known).contains(key)) {
                throw new ProfileException(
                        source,
                        "key \"" + shorten(key) + "\" of " + what + " is not known; known are "
                                + Arrays.stream(known).collect(Collectors.joining(", ")));
            }
        }
    }

    private static String quote(JsonNode node) {
        return node.isMissingNode() ? "missing" : shorten(node.toString());
    }

    private static String shorten(String text) {
        String shown = text.length() <= LONGEST_QUOTE ? text : text.substring(0, LONGEST_QUOTE) + "...";
        return shown.replaceAll("[\\p{Cc}\\p{Cf}\\u2028\\u2029]", "?");
    }

    /** Text of a profile that {@link #parse} reads back as an equal one; lines end in a line feed. */
    public static String write(Profile profile) {
        ObjectNode whole = MAPPER.createObjectNode().put("profile", profile.name());
        ObjectNode constants = whole.putObject("constants");
        profile.constants().forEach((constant, value) -> {
            ObjectNode entry = constants.putObject(constant.key());
            if (value.value() == Math.rint(value.value())) {
                entry.put("value", (long) value.value());
            } else {
                entry.put("value", value.value());
            }
            entry.put("source", value.source());
        });
        DefaultPrettyPrinter printer = new DefaultPrettyPrinter();
        printer.indentObjectsWith(new DefaultIndenter("  ", "\n"));
        try {
            return MAPPER.writer(printer).writeValueAsString(whole) + "\n";
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a tree of texts and numbers can't be written as JSON", e);
        }
    }

    /**
     * Writes a file.
     *
     * @throws IOException if that fails
     */
    public static void write(Profile profile, Path file) throws IOException {
        Files.writeString(file, write(profile), StandardCharsets.UTF_8);
    }
}
