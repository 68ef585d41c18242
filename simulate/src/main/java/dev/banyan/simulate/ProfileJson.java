package dev.banyan.simulate;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import dev.banyan.InputException;
import dev.banyan.config.internal.BoundedInput;
import dev.banyan.config.internal.UnreadableFileException;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Profiles as JSON: {@code {"profile": "name", "constants": {"nvlink.efficiency": {"value": 0.97, "source": "..."},
 * ...}}} with every {@link Constant} by its key; only those of device programs, of exchanges, of NVLS and of
 * NCCL's channels may be missing. A value that
 * nobody measured has a range, {@code "low"} to {@code "high"}. The static methods are safe for use from any thread.
 */
public final class ProfileJson {
    private static final JsonFactory FACTORY = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();
    private static final int MAX_QUOTE_LENGTH = 40;
    /** The profile whose constants of device programs others have that state none. */
    private static final String USUAL = "v100-nvlink";

    private final String source;
    private final String text;
    private final JsonParser parser;

    /**
     * Any JSON value.
     *
     * @param text the value as it stands in the text
     */
    private record Found(
            String text, @Nullable Double number, @Nullable String string) {
        /** Returns the value for messages. */
        String shown() {
            return shorten(text);
        }

        static final Found MISSING = new Found("missing", null, null);
    }

    private interface Field {
        void read(String key) throws IOException;
    }

    private ProfileJson(String source, String text, JsonParser parser) {
        this.source = source;
        this.text = text;
        this.parser = parser;
    }

    /**
     * Reads a file.
     *
     * @throws InputException if it can't be read, or is no profile
     */
    public static Profile read(Path file) {
        try {
            return parse(file.toString(), BoundedInput.USUAL.text(file));
        } catch (UnreadableFileException e) {
            throw new InputException(file.toString(), 0, 0, e.reason() + "; name the JSON file of a profile");
        }
    }

    /**
     * Reads a text.
     *
     * @param source what to call the text in messages, e.g. the file's name
     * @throws InputException if it is no profile
     */
    static Profile parse(String source, String text) {
        try (JsonParser parser = FACTORY.createParser(text)) {
            return new ProfileJson(source, text, parser).profile();
        } catch (JsonProcessingException e) {
            String place = e.getLocation() == null
                    ? ""
                    : " at line " + e.getLocation().getLineNr() + ", column "
                            + e.getLocation().getColumnNr();
            throw new InputException(
                    source,
                    0,
                    0,
                    "is no JSON" + place + ": "
                            + e.getOriginalMessage().lines().findFirst().orElse(""));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Profile profile() throws IOException {
        Map<String, Found> name = new HashMap<>();
        Map<Constant, Profile.Value> values = new EnumMap<>(Constant.class);
        parser.nextToken();
        readObject("the profile", List.of("profile", "constants"), key -> {
            if (key.equals("profile")) {
                name.put(key, found());
            } else {
                name.put(key, Found.MISSING);
                readObject(
                        "\"constants\"",
                        Stream.of(Constant.values()).map(Constant::key).toList(),
                        constant -> readConstant(constant, values));
            }
        });
        if (parser.nextToken() != null) {
            throw new JsonParseException(parser, "something follows the profile", parser.currentTokenLocation());
        }
        Found profile = need(name.get("profile"), "profile", "a name");
        need(name.get("constants"), "constants", "an object with a value for every constant");
        if (profile.string == null) {
            throw wrong("key \"profile\" is " + profile.shown() + "; it must be a name");
        }
        for (Constant constant : Constant.values()) {
            if (constant.isOfPrograms()) {
                values.computeIfAbsent(constant, ProfileJson::usual);
            } else if (constant.isOptional()) {
                values.putIfAbsent(constant, new Profile.Value(0, "not in the profile; not used"));
            }
            need(values.get(constant), constant.key(), "{\"value\": number, \"source\": text}");
        }
        return new Profile(profile.string, values);
    }

    private static Profile.Value usual(Constant constant) {
        Profile.Value usual = Objects.requireNonNull(
                Profiles.find(USUAL).orElseThrow().constants().get(constant));
        return new Profile.Value(
                usual.value(),
                usual.low(),
                usual.high(),
                "not in the profile; taken from " + USUAL + ": " + usual.source());
    }

    private void readConstant(String key, Map<Constant, Profile.Value> values) throws IOException {
        Map<String, Found> fields = new HashMap<>();
        String what = "\"" + key + "\"";
        readObject(what, List.of("value", "low", "high", "source"), field -> fields.put(field, found()));
        Constant constant = Stream.of(Constant.values())
                .filter(each -> each.key().equals(key))
                .findFirst()
                .orElseThrow();
        double value = number(constant, "value", fields.getOrDefault("value", Found.MISSING));
        Found low = fields.get("low");
        Found high = fields.get("high");
        double least = low == null ? value : number(constant, "low", low);
        double most = high == null ? value : number(constant, "high", high);
        if (least > value || most < value) {
            throw wrong("\"value\" of " + what + " is " + value + "; it must be from \"low\" to \"high\", " + least
                    + " to " + most);
        }
        Found origin = fields.getOrDefault("source", Found.MISSING);
        if (origin.string == null || origin.string.isBlank()) {
            throw wrong("\"source\" of " + what + " is " + origin.shown() + "; say where the value comes from");
        }
        values.put(constant, new Profile.Value(value, least, most, origin.string));
    }

    private double number(Constant constant, String field, Found found) {
        if (found.number == null || !constant.allows(found.number)) {
            throw wrong("\"" + field + "\" of \"" + constant.key() + "\" is " + found.shown() + "; it must be "
                    + constant.allowed());
        }
        return found.number;
    }

    /** Reads the object that begins at the current token; the field's reader leaves the last token of its value. */
    private void readObject(String what, List<String> known, Field field) throws IOException {
        if (parser.currentToken() != JsonToken.START_OBJECT) {
            throw wrong(what + " is " + found().shown() + "; it must be an object with the keys "
                    + String.join(", ", known));
        }
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String key = parser.currentName();
            if (!known.contains(key)) {
                throw wrong("key \"" + shorten(key) + "\" of " + what + " is not known; known are "
                        + String.join(", ", known));
            }
            parser.nextToken();
            field.read(key);
        }
    }

    /** Reads the value that begins at the current token, whatever it is. */
    private Found found() throws IOException {
        JsonToken token = parser.currentToken();
        if (token == null) {
            return Found.MISSING;
        }
        int start = (int) parser.currentTokenLocation().getCharOffset();
        Double number = token.isNumeric() ? parser.getDoubleValue() : null;
        String string = token == JsonToken.VALUE_STRING ? parser.getText() : null;
        parser.skipChildren();
        parser.finishToken();
        int end = (int) parser.currentLocation().getCharOffset();
        return new Found(text.substring(start, end), number, string);
    }

    private <T> T need(@Nullable T value, String key, String remedy) {
        if (value == null) {
            throw wrong("key \"" + key + "\" is missing; add it with " + remedy);
        }
        return value;
    }

    private InputException wrong(String problem) {
        return new InputException(source, 0, 0, problem);
    }

    private static String shorten(String text) {
        String shown = text.length() <= MAX_QUOTE_LENGTH ? text : text.substring(0, MAX_QUOTE_LENGTH) + "...";
        return shown.replaceAll("[\\p{Cc}\\p{Cf}\\u2028\\u2029]", "?");
    }

    /** Text of a profile that {@link #read} reads back as an equal one; lines end in a line feed. */
    public static String write(Profile profile) {
        StringWriter text = new StringWriter();
        DefaultPrettyPrinter printer = new DefaultPrettyPrinter();
        printer.indentObjectsWith(new DefaultIndenter("  ", "\n"));
        try (JsonGenerator json = FACTORY.createGenerator(text).setPrettyPrinter(printer)) {
            json.writeStartObject();
            json.writeStringField("profile", profile.name());
            json.writeObjectFieldStart("constants");
            for (Constant constant : Constant.values()) {
                Profile.Value value = Objects.requireNonNull(profile.constants().get(constant));
                json.writeObjectFieldStart(constant.key());
                write(json, "value", value.value());
                if (value.isRange()) {
                    write(json, "low", value.low());
                    write(json, "high", value.high());
                }
                json.writeStringField("source", profile.source(constant));
                json.writeEndObject();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return text + "\n";
    }

    private static void write(JsonGenerator json, String field, double value) throws IOException {
        if (value == Math.rint(value)) {
            json.writeNumberField(field, (long) value);
        } else {
            json.writeNumberField(field, value);
        }
    }
}
