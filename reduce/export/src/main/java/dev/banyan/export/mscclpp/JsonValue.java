package dev.banyan.export.mscclpp;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import dev.banyan.InputException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A value of a JSON file with its place, so that every refusal names it. Depth and number of values are bounded. */
final class JsonValue {
    private static final int MOST_VALUES = 2_000_000;
    private static final JsonFactory FACTORY = JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(16)
                    .maxNumberLength(64)
                    .maxNameLength(1000)
                    .maxStringLength(100_000)
                    .build())
            .build();

    private final String source;
    private final JsonLocation place;
    /** A map of values by key, a list of values, a Long, a Boolean or a String. */
    private final Object content;

    private JsonValue(String source, JsonLocation place, Object content) {
        this.source = source;
        this.place = place;
        this.content = content;
    }

    static JsonValue parse(String source, String text) {
        try (JsonParser parser = FACTORY.createParser(text)) {
            parser.nextToken();
            return read(source, parser, new int[1]);
        } catch (JsonProcessingException e) {
            JsonLocation at = Objects.requireNonNullElse(e.getLocation(), JsonLocation.NA);
            throw new InputException(
                    source,
                    Math.max(0, at.getLineNr()),
                    Math.max(0, at.getColumnNr()),
                    "is not well-formed JSON: "
                            + String.valueOf(e.getOriginalMessage()).replaceAll("\\s+", " ") + "; correct it");
        } catch (IOException e) {
            throw new UncheckedIOException("reading JSON from memory failed", e);
        }
    }

    private static JsonValue read(String source, JsonParser parser, int[] count) throws IOException {
        JsonLocation place = parser.currentTokenLocation();
        JsonValue begun = new JsonValue(source, place, "");
        if (++count[0] > MOST_VALUES) {
            throw begun.wrong("has more than " + MOST_VALUES + " values, too many to check");
        }
        JsonToken token = parser.currentToken();
        if (token == null) {
            throw begun.wrong("is empty; name a plan in JSON");
        }
        Object content = switch (token) {
            case START_OBJECT -> {
                Map<String, JsonValue> object = new LinkedHashMap<>();
                while (parser.nextToken() == JsonToken.FIELD_NAME) {
                    String key = parser.currentName();
                    parser.nextToken();
                    object.put(key, read(source, parser, count));
                }
                yield object;
            }
            case START_ARRAY -> {
                List<JsonValue> array = new ArrayList<>();
                while (parser.nextToken() != JsonToken.END_ARRAY) {
                    array.add(read(source, parser, count));
                }
                yield array;
            }
            case VALUE_NUMBER_INT -> parser.getLongValue();
            case VALUE_TRUE, VALUE_FALSE -> parser.getBooleanValue();
            default -> String.valueOf(parser.getText());
        };
        return new JsonValue(source, place, content);
    }

    boolean isObjectWith(String key) {
        return content instanceof Map<?, ?> object && object.containsKey(key);
    }

    JsonValue get(String key) {
        if (content instanceof Map<?, ?> object && object.get(key) instanceof JsonValue value) {
            return value;
        }
        throw wrong("has no key \"" + key + "\" here; add it");
    }

    /** The values of an array; none where the key is missing. */
    List<JsonValue> list(String key) {
        if (!isObjectWith(key)) {
            return List.of();
        }
        JsonValue found = get(key);
        if (found.content instanceof List<?> array) {
            return array.stream().map(JsonValue.class::cast).toList();
        }
        throw found.wrong("has no array as \"" + key + "\"; write [...]");
    }

    List<Integer> numbers(String key, int most) {
        return list(key).stream().map(value -> (int) value.number(0, most)).toList();
    }

    String text(String key) {
        JsonValue found = get(key);
        if (found.content instanceof String text) {
            return text;
        }
        throw found.wrong("has no text as \"" + key + "\"; write it in quotes");
    }

    boolean flag(String key, @Nullable Boolean missing) {
        if (missing != null && !isObjectWith(key)) {
            return missing;
        }
        JsonValue found = get(key);
        if (found.content instanceof Boolean flag) {
            return flag;
        }
        throw found.wrong("has neither true nor false as \"" + key + "\"");
    }

    long number(String key, long least, long most) {
        return get(key).number(least, most);
    }

    private long number(long least, long most) {
        if (content instanceof Long number && number >= least && number <= most) {
            return number;
        }
        throw wrong("has " + (content instanceof Long ? content : "no whole number") + " here; a number from " + least
                + " to " + most + " belongs here");
    }

    InputException wrong(String problem) {
        return new InputException(source, Math.max(0, place.getLineNr()), Math.max(0, place.getColumnNr()), problem);
    }
}
