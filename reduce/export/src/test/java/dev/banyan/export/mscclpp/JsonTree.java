package dev.banyan.export.mscclpp;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An object, an array or a value of JSON. Objects and arrays can be changed, for tests that plant defects. */
record JsonTree(Object value) {
    static JsonTree parse(String text) {
        try (JsonParser parser = new JsonFactory().createParser(text)) {
            parser.nextToken();
            return new JsonTree(read(parser));
        } catch (IOException e) {
            throw new IllegalArgumentException(e);
        }
    }

    private static Object read(JsonParser parser) throws IOException {
        switch (parser.currentToken()) {
            case START_OBJECT -> {
                Map<String, Object> object = new LinkedHashMap<>();
                while (parser.nextToken() != JsonToken.END_OBJECT) {
                    String key = parser.currentName();
                    parser.nextToken();
                    object.put(key, read(parser));
                }
                return object;
            }
            case START_ARRAY -> {
                List<Object> array = new ArrayList<>();
                while (parser.nextToken() != JsonToken.END_ARRAY) {
                    array.add(read(parser));
                }
                return array;
            }
            case VALUE_NUMBER_INT -> {
                return parser.getLongValue();
            }
            case VALUE_TRUE, VALUE_FALSE -> {
                return parser.getBooleanValue();
            }
            default -> {
                return parser.getText();
            }
        }
    }

    @SuppressWarnings("unchecked")
    Map<String, Object> object() {
        return (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    List<Object> array() {
        return (List<Object>) value;
    }

    boolean has(String key) {
        return object().containsKey(key);
    }

    JsonTree get(String key) {
        Object found = object().get(key);
        if (found == null) {
            throw new PlanInterpreter.Defect("key " + key + " is missing in " + object().keySet());
        }
        return new JsonTree(found);
    }

    String text(String key) {
        return (String) get(key).value;
    }

    long number(String key) {
        return (Long) get(key).value;
    }

    boolean flag(String key) {
        return (Boolean) get(key).value;
    }

    List<JsonTree> list(String key) {
        return has(key) ? get(key).array().stream().map(JsonTree::new).toList() : List.of();
    }

    List<Integer> numbers(String key) {
        return has(key)
                ? get(key).array().stream()
                        .map(number -> ((Long) number).intValue())
                        .toList()
                : List.of();
    }

    /** The same as text. */
    String json() {
        StringBuilder text = new StringBuilder();
        append(text, value);
        return text.toString();
    }

    private static void append(StringBuilder text, Object value) {
        switch (value) {
            case Map<?, ?> object -> {
                text.append('{');
                object.forEach((key, entry) -> {
                    text.append(text.charAt(text.length() - 1) == '{' ? "" : ",")
                            .append('"')
                            .append(key)
                            .append("\":");
                    append(text, entry);
                });
                text.append('}');
            }
            case List<?> array -> {
                text.append('[');
                array.forEach(entry -> {
                    text.append(text.charAt(text.length() - 1) == '[' ? "" : ",");
                    append(text, entry);
                });
                text.append(']');
            }
            case String string -> text.append('"').append(string).append('"');
            default -> text.append(value);
        }
    }
}
