package dev.banyan.simulate;

import dev.banyan.InputException;
import dev.banyan.config.internal.BoundedInput;
import dev.banyan.config.internal.UnreadableFileException;
import dev.banyan.config.internal.json.JsonPieces;
import dev.banyan.config.internal.json.JsonValue;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Profiles as JSON: {@code {"profile": "name", "constants": {"nvlink.efficiency": {"value": 0.97, "source": "..."},
 * ...}}} with every {@link Constant} by its key; only those of device programs, of exchanges, of NVLS and of
 * NCCL's channels may be missing. A value that
 * nobody measured has a range, {@code "low"} to {@code "high"}. The static methods are safe for use from any thread.
 */
public final class ProfileJson {
    /** The profile whose constants of device programs others have that state none. */
    private static final String USUAL = "v100-nvlink";

    private ProfileJson() {}

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
        JsonValue json = JsonValue.parse(source, "the profile", text);
        json.check(List.of("profile", "constants"));
        String name = json.get("profile").string();
        JsonValue constants = json.get("constants");
        constants.check(Stream.of(Constant.values()).map(Constant::key).toList());
        Map<Constant, Profile.Value> values = new EnumMap<>(Constant.class);
        for (Constant constant : Constant.values()) {
            JsonValue given = constants.find(constant.key());
            if (given != null) {
                values.put(constant, value(constant, given));
            } else if (constant.isOfPrograms()) {
                values.put(constant, usual(constant));
            } else if (constant.isOptional()) {
                values.put(constant, new Profile.Value(0, "not in the profile; not used"));
            } else {
                throw constants.refuse(
                        "key \"" + constant.key() + "\" is missing; add it with {\"value\": number, \"source\": text}");
            }
        }
        return new Profile(name, values);
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

    private static Profile.Value value(Constant constant, JsonValue json) {
        json.check(List.of("value", "low", "high", "source"));
        JsonValue usual = json.get("value");
        double value = number(constant, "value", usual);
        double least = number(constant, "low", Objects.requireNonNullElse(json.find("low"), usual));
        double most = number(constant, "high", Objects.requireNonNullElse(json.find("high"), usual));
        if (least > value || most < value) {
            throw usual.refuse("\"value\" of \"" + constant.key() + "\" is " + value
                    + "; it must be from \"low\" to \"high\", " + least + " to " + most);
        }
        String source = json.get("source").string();
        if (source.isBlank()) {
            throw json.get("source")
                    .refuse("\"source\" of \"" + constant.key() + "\" is "
                            + json.get("source").shown() + "; say where the value comes from");
        }
        return new Profile.Value(value, least, most, source);
    }

    private static double number(Constant constant, String field, JsonValue json) {
        if (!json.isNumber() || !constant.allows(json.number())) {
            throw json.refuse("\"" + field + "\" of \"" + constant.key() + "\" is " + json.shown() + "; it must be "
                    + constant.allowed());
        }
        return json.number();
    }

    /** Text of a profile that {@link #read} reads back as an equal one; lines end in a line feed. */
    public static String write(Profile profile) {
        return Stream.of(Constant.values())
                .map(constant -> write(profile, constant))
                .collect(Collectors.joining(
                        ",\n",
                        "{\n  \"profile\" : " + JsonPieces.of(profile.name()) + ",\n  \"constants\" : {\n",
                        "\n  }\n}\n"));
    }

    private static String write(Profile profile, Constant constant) {
        Profile.Value value = Objects.requireNonNull(profile.constants().get(constant));
        Stream<String> range = value.isRange()
                ? Stream.of("\"low\" : " + number(value.low()), "\"high\" : " + number(value.high()))
                : Stream.of();
        return Stream.of(
                        Stream.of("\"value\" : " + number(value.value())),
                        range,
                        Stream.of("\"source\" : " + JsonPieces.of(profile.source(constant))))
                .flatMap(fields -> fields)
                .collect(Collectors.joining(
                        ",\n      ", "    " + JsonPieces.of(constant.key()) + " : {\n      ", "\n    }"));
    }

    private static String number(double value) {
        return value == Math.rint(value) ? String.valueOf((long) value) : String.valueOf(value);
    }
}
