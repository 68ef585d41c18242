package dev.banyan.study.text;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Pages of fixed text with places for figures and tables. */
public final class PageTemplate {
    private static final Pattern PLACE = Pattern.compile("\\{\\{([a-z-]+)}}");

    private PageTemplate() {}

    /**
     * Returns the text of a template with its places filled.
     *
     * @param beside a class in the package of the template
     * @param name the template's file name
     * @param values what stands for each {@code {{place}}}
     */
    public static String fill(Class<?> beside, String name, Map<String, ?> values) {
        try (InputStream in = Objects.requireNonNull(beside.getResourceAsStream(name), name)) {
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            return PLACE.matcher(text)
                    .replaceAll(place ->
                            Matcher.quoteReplacement(Objects.requireNonNull(values.get(place.group(1)), place.group(1))
                                    .toString()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
