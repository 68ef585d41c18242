package dev.banyan.config.internal.json;

import dev.banyan.InputException;
import dev.banyan.config.internal.Quote;
import java.math.BigInteger;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A value of a JSON text that knows its place, so that every refusal names line and column. */
public final class JsonValue {
    private static final Pattern INTEGER = Pattern.compile("-?\\d+");

    private final JsonText text;
    private final String name;
    private final int key;
    private final int begin;
    private final int end;
    private final @Nullable Object content;

    /** The values of an object, in the order of the text. */
    record Fields(Map<String, JsonValue> values) {}

    /** The values of an array. */
    record Items(List<JsonValue> values) {}

    /** A number as it is written. */
    record Numeral(String digits) {}

    /**
     * @param name the value in messages, e.g. its key in quotes
     * @param key where its key begins in the text, or the value itself
     * @param begin where it begins in the text
     * @param end where it ends
     * @param content fields, items, a string, a boolean, a numeral, or null
     */
    JsonValue(JsonText text, String name, int key, int begin, int end, @Nullable Object content) {
        this.text = text;
        this.name = name;
        this.key = key;
        this.begin = begin;
        this.end = end;
        this.content = content;
    }

    /**
     * Reads a text.
     *
     * @param source what to call the text in messages, e.g. the file's name
     * @param what what to call its value in messages, e.g. "the machine"
     * @throws InputException if it is no JSON, has two values of one key in an object, or is too large or deep
     */
    public static JsonValue parse(String source, String what, String text) {
        return new JsonTree(new JsonText(source, text), what).read();
    }

    /** Returns whether it is {@code null}. */
    public boolean isNull() {
        return content == null;
    }

    /** Returns whether it is an object with a key. */
    public boolean has(String wanted) {
        return content instanceof Fields fields && fields.values.containsKey(wanted);
    }

    /** Returns the values of an object by their keys, in the order of the text. */
    public Map<String, JsonValue> object() {
        if (content instanceof Fields fields) {
            return fields.values;
        }
        throw mustBe("an object");
    }

    /** Returns the values of an array. */
    public List<JsonValue> array() {
        if (content instanceof Items items) {
            return items.values;
        }
        throw mustBe("an array");
    }

    /** Returns a string. */
    public String string() {
        if (content instanceof String string) {
            return string;
        }
        throw mustBe("a string");
    }

    /** Returns true or false. */
    public boolean truth() {
        if (content instanceof Boolean truth) {
            return truth;
        }
        throw mustBe("true or false");
    }

    /** Returns an integer of 32 bits. */
    public int integer() {
        return (int) integer(Integer.MIN_VALUE, Integer.MAX_VALUE, "an integer of 32 bits");
    }

    /** Returns an integer in a range. */
    public long integer(long least, long most) {
        return integer(least, most, "a whole number from " + least + " to " + most);
    }

    private long integer(long least, long most, String allowed) {
        if (content instanceof Numeral numeral
                && INTEGER.matcher(numeral.digits).matches()) {
            BigInteger number = new BigInteger(numeral.digits);
            if (number.compareTo(BigInteger.valueOf(least)) >= 0 && number.compareTo(BigInteger.valueOf(most)) <= 0) {
                return number.longValue();
            }
        }
        throw mustBe(allowed);
    }

    /** Returns whether it is a number. */
    public boolean isNumber() {
        return content instanceof Numeral;
    }

    /** Returns a number; one beyond doubles is infinite. */
    public double number() {
        if (content instanceof Numeral numeral) {
            return Double.parseDouble(numeral.digits);
        }
        throw mustBe("a number");
    }

    /** Returns the value of a key of an object, or null if there is none. */
    public @Nullable JsonValue find(String wanted) {
        return object().get(wanted);
    }

    /** Returns the values of the array of a key; none where an object lacks the key. */
    public List<JsonValue> list(String wanted) {
        JsonValue found = find(wanted);
        return found == null ? List.of() : found.array();
    }

    /** Returns the value of a key that an object must have. */
    public JsonValue get(String wanted) {
        JsonValue found = find(wanted);
        if (found == null) {
            throw refuse("key \"" + wanted + "\" of " + name + " is missing; add it");
        }
        return found;
    }

    /**
     * Refuses other keys of an object than those that are known.
     *
     * @throws InputException if it has another one, or is no object
     */
    public void check(List<String> known) {
        object().forEach((found, value) -> {
            if (!known.contains(found)) {
                throw text.refuse(
                        value.key,
                        "key \"" + Quote.of(found) + "\" of " + name + " is not known; known are "
                                + String.join(", ", known));
            }
        });
    }

    /** Returns the value for messages. */
    public String shown() {
        return Quote.of(text.text().substring(begin, end));
    }

    private InputException mustBe(String allowed) {
        return refuse(name + " must be " + allowed + ", not " + shown());
    }

    /** Returns a refusal that names the value's place. */
    public InputException refuse(String problem) {
        return text.refuse(begin, problem);
    }
}
