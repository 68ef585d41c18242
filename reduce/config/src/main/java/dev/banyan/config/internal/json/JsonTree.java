package dev.banyan.config.internal.json;

import dev.banyan.InputException;
import dev.banyan.config.internal.Quote;
import jakarta.json.stream.JsonParser;
import jakarta.json.stream.JsonParser.Event;
import jakarta.json.stream.JsonParsingException;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads a JSON text into {@link JsonValue}s. Used once. */
final class JsonTree {
    private static final int MOST_DEPTH = 16;
    private static final int MOST_VALUES = 2_000_000;
    private static final int MOST_STRING = 100_000;
    private static final int MOST_DIGITS = 64;

    private final JsonText text;
    private final String what;
    private final JsonParser parser;

    private int begin;
    private int end;
    private int values;

    JsonTree(JsonText text, String what) {
        this.text = text;
        this.what = what;
        parser = JsonPieces.PROVIDER.createParser(new StringReader(text.text()));
    }

    JsonValue read() {
        if (text.text().isBlank()) {
            throw new InputException(text.source(), 0, 0, "is empty; name a file with " + what + " in JSON");
        }
        try (parser) {
            JsonValue whole = value(next(), what, -1, 1);
            // Refuses anything behind it.
            parser.hasNext();
            return whole;
        } catch (JsonParsingException e) {
            int at = (int) e.getLocation().getStreamOffset();
            int length = text.text().length();
            throw at < 0 || at >= length
                    ? text.refuse(length, "is not valid JSON: it ends too early")
                    : text.refuse(
                            at,
                            "is not valid JSON: '" + Quote.of(text.text().substring(at, at + 1))
                                    + "' does not belong here");
        }
    }

    /** Goes to the next token; the parser itself knows only its end. */
    private Event next() {
        begin = end;
        Event event = parser.next();
        // Behind a number at the end of a text the parser counts too many characters.
        end = Math.min((int) parser.getLocation().getStreamOffset(), text.text().length());
        while (" \t\r\n,:".indexOf(text.text().charAt(begin)) >= 0) {
            begin++;
        }
        return event;
    }

    private JsonValue value(Event event, String name, int key, int depth) {
        int from = begin;
        if (++values > MOST_VALUES || depth > MOST_DEPTH) {
            throw text.refuse(
                    from, values > MOST_VALUES ? tooMany("values", MOST_VALUES) : tooMany("levels", MOST_DEPTH));
        }
        @Nullable Object content = content(event, name, depth);
        return new JsonValue(text, name, key < 0 ? from : key, from, end, content);
    }

    private static String tooMany(String what, int most) {
        return "has more than " + most + " " + what + "; no file that belongs here has so many";
    }

    private @Nullable Object content(Event event, String name, int depth) {
        return switch (event) {
            case START_OBJECT -> object(depth);
            case START_ARRAY -> {
                List<JsonValue> array = new ArrayList<>();
                String entry = "an entry of " + name;
                for (Event next = next(); next != Event.END_ARRAY; next = next()) {
                    array.add(value(next, entry, -1, depth + 1));
                }
                yield new JsonValue.Items(Collections.unmodifiableList(array));
            }
            case VALUE_STRING -> bounded(parser.getString(), MOST_STRING);
            case VALUE_NUMBER -> new JsonValue.Numeral(bounded(parser.getString(), MOST_DIGITS));
            case VALUE_TRUE -> true;
            case VALUE_FALSE -> false;
            case VALUE_NULL -> null;
            default -> throw new IllegalStateException("the parser gives " + event + " for a value");
        };
    }

    private JsonValue.Fields object(int depth) {
        Map<String, JsonValue> object = new LinkedHashMap<>();
        while (next() != Event.END_OBJECT) {
            int at = begin;
            String key = bounded(parser.getString(), MOST_STRING);
            String quoted = '"' + Quote.of(key) + '"';
            if (object.put(key, value(next(), quoted, at, depth + 1)) != null) {
                throw text.refuse(at, "key " + quoted + " occurs twice; remove one");
            }
        }
        return new JsonValue.Fields(Collections.unmodifiableMap(object));
    }

    private String bounded(String found, int most) {
        if (found.length() > most) {
            throw text.refuse(begin, tooMany("characters in a value", most));
        }
        return found;
    }
}
