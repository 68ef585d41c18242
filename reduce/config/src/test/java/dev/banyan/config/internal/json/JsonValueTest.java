package dev.banyan.config.internal.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.banyan.InputException;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JsonValueTest {
    private static final int SEED = 7;
    private static final String CHARACTERS = "{}[]\",:0123456789-+.eE truefalsn\\u\n\t\u00e9\ud83d\ude00";

    /** Another parser, as strict. */
    private static final JsonMapper ORACLE = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();

    private static JsonValue parse(String text) {
        return JsonValue.parse("x.json", "the text", text);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "``                | x.json: is empty; name a file with the text in JSON",
                "{                 | x.json:1:2: is not valid JSON: it ends too early",
                "{\"a\":\"b        | x.json:1:8: is not valid JSON: it ends too early",
                "nul               | x.json:1:4: is not valid JSON: it ends too early",
                "[1,]              | x.json:1:4: is not valid JSON: ']' does not belong here",
                "{'a': 1}          | x.json:1:2: is not valid JSON: ''' does not belong here",
                "{\"a\": NaN}      | x.json:1:7: is not valid JSON: 'N' does not belong here",
                "{\"a\": 1} x      | x.json:1:10: is not valid JSON: 'x' does not belong here",
                "{\"a\": 1, \"a\": 2} | x.json:1:10: key \"a\" occurs twice; remove one",
                "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]] | x.json:1:17: has more than 16 levels; no file that belongs here"
                        + " has so many",
            })
    void refusesWithThePlace(String text, String message) {
        assertThatThrownBy(() -> parse(text)).isInstanceOf(InputException.class).hasMessage(message);
    }

    @Test
    void namesTheValueAndItsPlace() {
        JsonValue json = parse("{\n  \"a\": [1, {\"b\": \"x\"}],\n  \"c\": 1e999}");
        assertThatThrownBy(() -> json.get("a").array().get(1).get("b").integer())
                .hasMessage("x.json:2:18: \"b\" must be an integer of 32 bits, not \"x\"");
        assertThatThrownBy(() -> json.get("a").array().getFirst().string())
                .hasMessage("x.json:2:9: an entry of \"a\" must be a string, not 1");
        assertThatThrownBy(() -> json.get("c").integer(0, 9))
                .hasMessage("x.json:3:8: \"c\" must be a whole number from 0 to 9, not 1e999");
        assertThat(json.get("c").number()).isInfinite();
        assertThatThrownBy(() -> json.get("d")).hasMessage("x.json:1:1: key \"d\" of the text is missing; add it");
        assertThat(json.list("d")).isEmpty();
        assertThat(parse("9223372036854775807").integer(0, Long.MAX_VALUE)).isEqualTo(Long.MAX_VALUE);
        assertThatThrownBy(() -> parse("9223372036854775808").integer(0, Long.MAX_VALUE))
                .hasMessageContaining("from 0 to 9223372036854775807, not 9223372036854775808");
        assertThat(parse("123456789012345678901234567890").number()).isEqualTo(1.2345678901234568e29);
    }

    @Test
    void readsWhatAnotherParserReads() throws JsonProcessingException {
        Random random = new Random(SEED);
        int read = 0;
        for (int round = 0; round < 20_000; round++) {
            StringBuilder text = new StringBuilder(text(random, 0));
            for (int change = random.nextInt(3); change > 0; change--) {
                int at = random.nextInt(text.length());
                String by = String.valueOf(CHARACTERS.charAt(random.nextInt(CHARACTERS.length())));
                text.replace(at, Math.min(text.length(), at + random.nextInt(2)), by);
            }
            String mutated = text.toString();
            JsonNode expected = null;
            try {
                expected = ORACLE.readTree(mutated);
            } catch (JsonProcessingException e) {
                assertThatThrownBy(() -> parse(mutated))
                        .as("round %d of seed %d: %s", round, SEED, mutated)
                        .isInstanceOf(InputException.class);
            }
            if (expected != null && !expected.isMissingNode()) {
                check(parse(mutated), expected);
                read++;
            }
        }
        assertThat(read).isGreaterThan(5_000);
    }

    private static void check(JsonValue value, JsonNode expected) {
        switch (expected.getNodeType()) {
            case OBJECT -> {
                assertThat(value.object().keySet()).containsExactlyElementsOf(expected::fieldNames);
                value.object().forEach((key, field) -> check(field, expected.get(key)));
            }
            case ARRAY -> {
                assertThat(value.array()).hasSize(expected.size());
                for (int i = 0; i < expected.size(); i++) {
                    check(value.array().get(i), expected.get(i));
                }
            }
            case STRING -> assertThat(value.string()).isEqualTo(expected.textValue());
            case NUMBER -> assertThat(value.number()).isEqualTo(expected.doubleValue());
            case BOOLEAN -> assertThat(value.truth()).isEqualTo(expected.booleanValue());
            default -> assertThat(value.isNull()).isTrue();
        }
    }

    private static String text(Random random, int depth) {
        return switch (random.nextInt(depth > 3 ? 5 : 7)) {
            case 0 -> String.valueOf(random.nextInt(1 << random.nextInt(1, 31)) - 5);
            case 1 -> String.valueOf(random.nextGaussian() * Math.pow(10, random.nextInt(-20, 20)));
            case 2 -> random.nextBoolean() ? "true" : "false";
            case 3 -> "null";
            case 4 ->
                JsonPieces.of(random.ints(random.nextInt(6), 0, CHARACTERS.length())
                        .mapToObj(i -> String.valueOf(CHARACTERS.charAt(i)))
                        .reduce("", String::concat));
            case 5 -> {
                StringBuilder array = new StringBuilder("[");
                for (int i = random.nextInt(4); i > 0; i--) {
                    array.append(text(random, depth + 1)).append(i > 1 ? ", " : "");
                }
                yield array.append(']').toString();
            }
            default -> {
                StringBuilder object = new StringBuilder("{ ");
                for (int i = random.nextInt(4); i > 0; i--) {
                    object.append("\"k")
                            .append(i)
                            .append("\" : ")
                            .append(text(random, depth + 1))
                            .append(i > 1 ? ",\n" : "");
                }
                yield object.append('}').toString();
            }
        };
    }
}
