package dev.banyan.schedule.plan;

import java.util.function.Function;
import java.util.function.Predicate;

/**
 * One name of the configuration and how its text is understood.
 *
 * @param name the name in every source
 * @param allowed what is allowed, as a phrase that follows "must be"
 * @param parser from text without surrounding blanks; throws IllegalArgumentException where that is not
 *     even of the right form
 * @param range whether a value is allowed
 */
record Setting<T>(String name, String allowed, Function<String, T> parser, Predicate<T> range) {
    static Setting<Boolean> flag(String name) {
        return new Setting<>(
                name,
                "0 or 1",
                text -> switch (text) {
                    case "0" -> false;
                    case "1" -> true;
                    default -> throw new IllegalArgumentException(text);
                },
                value -> true);
    }

    static Setting<Long> atLeast(long least, String unit, String name) {
        String allowed = "a whole number of " + unit + ", at least " + least;
        return new Setting<>(name, allowed, Long::valueOf, value -> value >= least);
    }

    /**
     * @param origin where the text is from, for the message
     * @throws ConfigException if it is not allowed
     */
    T parse(String text, String origin) {
        T value;
        try {
            value = parser.apply(text.strip());
        } catch (IllegalArgumentException e) {
            throw new ConfigException(complaint(text, origin), e);
        }
        return check(value, text, origin);
    }

    T check(T value, String text, String origin) {
        if (!range.test(value)) {
            throw new ConfigException(complaint(text, origin));
        }
        return value;
    }

    private String complaint(String text, String origin) {
        return name + " is \"" + text + "\" (" + origin + "); it must be " + allowed;
    }
}
