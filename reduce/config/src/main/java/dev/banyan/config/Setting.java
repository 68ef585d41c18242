package dev.banyan.config;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * The declaration of one setting. It stands as a constant beside the code that uses the setting, and a
 * {@link SettingProvider} lists it. Everything else about the setting is derived from it: messages, warnings of unknown
 * names, {@code banyan settings} and the documentation.
 *
 * @param name the name in every source
 * @param allowed what is allowed, with its unit, as a phrase that follows "must be"
 * @param parser reads text without surrounding blanks; throws IllegalArgumentException if the text is not allowed
 * @param printer writes a value as text that the parser reads
 * @param defaultValue the value if no source has one
 * @param defaultText the default for people: a value or a phrase such as "the JVM's available processors"
 * @param meaning what the setting does, as one sentence
 * @param inFiles whether files of settings may have it
 */
public record Setting<T>(
        String name,
        String allowed,
        Function<String, T> parser,
        Function<T, String> printer,
        T defaultValue,
        String defaultText,
        String meaning,
        boolean inFiles) {
    /** A setting of any type whose {@code toString} is what the parser reads. */
    public static <T> Setting<T> of(
            String name, String allowed, Function<String, T> parser, T defaultValue, String meaning) {
        return of(name, allowed, parser, String::valueOf, defaultValue, meaning);
    }

    private static <T> Setting<T> of(
            String name,
            String allowed,
            Function<String, T> parser,
            Function<T, String> printer,
            T defaultValue,
            String meaning) {
        return new Setting<>(name, allowed, parser, printer, defaultValue, printer.apply(defaultValue), meaning, true);
    }

    /** A setting that is 0 or 1. */
    public static Setting<Boolean> flag(String name, boolean defaultValue, String meaning) {
        return of(
                name,
                "0 or 1",
                text -> {
                    require(text.equals("0") || text.equals("1"));
                    return text.equals("1");
                },
                on -> on ? "1" : "0",
                defaultValue,
                meaning);
    }

    /** A 32-bit number of some unit, or of none if that is empty, both limits included. */
    public static Setting<Integer> wholeNumber(
            String name, String unit, int least, int most, int defaultValue, String meaning) {
        return of(
                name,
                (unit.isEmpty() ? "a whole number" : "a whole number of " + unit) + ", " + least + " to " + most,
                text -> {
                    int value = Integer.parseInt(text);
                    require(value >= least && value <= most);
                    return value;
                },
                defaultValue,
                meaning);
    }

    /** A number of elements, which may be written as 10M (ten million) or 1e7. */
    public static Setting<Long> elements(String name, long least, long defaultValue, String meaning) {
        return of(
                name,
                atLeast("elements", least) + ", e.g. 10M or 1e7",
                text -> {
                    long value = parseElements(text);
                    require(value >= least);
                    return value;
                },
                defaultValue,
                meaning);
    }

    private static long parseElements(String text) {
        int power = text.isEmpty() ? 0 : "KMG".indexOf(text.charAt(text.length() - 1)) + 1;
        BigDecimal number = new BigDecimal(power == 0 ? text : text.substring(0, text.length() - 1));
        try {
            return number.scaleByPowerOfTen(3 * power).longValueExact();
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException(text + " is no whole number of 64 bits", e);
        }
    }

    /** A time in whole milliseconds, at least one. */
    public static Setting<Duration> milliseconds(String name, Duration defaultValue, String meaning) {
        return of(
                name,
                atLeast("milliseconds", 1),
                text -> Duration.ofMillis(parseAtLeast(1, text)),
                time -> Long.toString(TimeUnit.MILLISECONDS.convert(time)),
                defaultValue,
                meaning);
    }

    private static String atLeast(String unit, long least) {
        return "a whole number of " + unit + ", at least " + least;
    }

    private static long parseAtLeast(long least, String text) {
        long value = Long.parseLong(text);
        require(value >= least);
        return value;
    }

    /** A number of bytes, which may end in K, M or G. */
    public static Setting<Long> bytes(String name, long least, long defaultValue, String meaning) {
        return of(
                name,
                "a whole number of bytes, at least " + Bytes.text(least) + ", e.g. 4M",
                text -> parseBytes(least, text),
                Bytes::text,
                defaultValue,
                meaning);
    }

    /** A number of bytes, or a word that stands for a value of its own. */
    public static Setting<Long> bytesOr(
            String word, long meant, String name, long least, long defaultValue, String meaning) {
        Setting<Long> bytes = bytes(name, least, defaultValue, meaning);
        return of(
                name,
                word + ", or " + bytes.allowed,
                text -> text.equals(word) ? Long.valueOf(meant) : bytes.parser.apply(text),
                value -> value == meant ? word : Bytes.text(value),
                defaultValue,
                meaning);
    }

    private static long parseBytes(long least, String text) {
        long value = Bytes.parse(text);
        require(value >= least);
        return value;
    }

    /** Any text; none if no source has it. */
    public static Setting<String> text(String name, String allowed, String defaultText, String meaning) {
        return of(name, allowed, text -> text, "", meaning).withDefaultText(defaultText);
    }

    private static void require(boolean inRange) {
        if (!inRange) {
            throw new IllegalArgumentException("out of range");
        }
    }

    /** The same with another description of the default. */
    public Setting<T> withDefaultText(String text) {
        return new Setting<>(name, allowed, parser, printer, defaultValue, text, meaning, inFiles);
    }

    /** The same, but not for files of settings. */
    public Setting<T> outsideFiles() {
        return new Setting<>(name, allowed, parser, printer, defaultValue, defaultText, meaning, false);
    }

    /**
     * Returns the value of the system property or else of the environment variable, whatever other settings there are.
     *
     * @throws ConfigException if it is not allowed
     */
    public Optional<T> ofProcess() {
        return Stream.of(Optional.ofNullable(System.getProperty(name)), Optional.ofNullable(System.getenv(name)))
                .flatMap(Optional::stream)
                .filter(text -> !text.isBlank())
                .findFirst()
                .map(text -> parse(text, "set for this process"));
    }

    T parse(String text, String source) {
        try {
            return parser.apply(text.strip());
        } catch (IllegalArgumentException e) {
            throw new ConfigException(
                    name + " is \"" + Excerpt.of(text) + "\" (" + source + "); it must be " + allowed, e);
        }
    }
}
