package dev.banyan.page;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import dev.banyan.page.model.PageModel;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A page about a machine: one HTML document that needs neither a network nor a server. It holds the model as
 * JSON, its style sheet, its scripts, and the library uPlot with its licence.
 */
public final class MachinePage {
    /** Modules of the page's script, each after those that it imports. */
    private static final List<String> MODULES = List.of(
            "dom.js",
            "format.js",
            "theme.js",
            "model.js",
            "drawing.js",
            "explorer.js",
            "curves.js",
            "player.js",
            "steps.js",
            "tables.js",
            "main.js");

    private static final Pattern PART = Pattern.compile("\\{\\{([a-z-]+)}}");
    private static final Pattern IMPORT =
            Pattern.compile("^import \\{([^}]*)} from \"\\./(\\w+)\\.js\";", Pattern.MULTILINE);
    private static final Pattern EXPORT = Pattern.compile("^export (?:const|function|class) (\\w+)", Pattern.MULTILINE);

    private MachinePage() {}

    /** Returns the document that shows a model. */
    public static String html(PageModel model) {
        Map<String, Supplier<String>> parts = Map.of(
                "title", () -> escaped(model.machine().name()),
                "licence", () -> resource("library/LICENSE").strip(),
                "library-style", () -> resource("library/uPlot.min.css").strip(),
                "style", () -> resource("page.css"),
                "library", () -> resource("library/uPlot.iife.min.js").strip(),
                "script", MachinePage::script,
                "model", () -> json(model));
        return PART.matcher(resource("page.html"))
                .replaceAll(
                        part -> Matcher.quoteReplacement(Objects.requireNonNull(parts.get(part.group(1)), part.group())
                                .get()));
    }

    private static String script() {
        return MODULES.stream().map(MachinePage::bundled).collect(Collectors.joining());
    }

    /**
     * A module as a function that runs at once and returns what it exports: a page from disk may not import files.
     * Imports
     * become constants.
     */
    private static String bundled(String module) {
        String source = resource(module);
        String exports =
                EXPORT.matcher(source).results().map(export -> export.group(1)).collect(Collectors.joining(", "));
        String body = IMPORT.matcher(source).replaceAll("const {$1} = $2Module;");
        return "\nconst " + module.replace(".js", "") + "Module = (() => {\n"
                + EXPORT.matcher(body)
                        .replaceAll(export ->
                                Matcher.quoteReplacement(export.group().substring("export ".length())))
                + "return { " + exports + " };\n})();\n";
    }

    /** Returns the model without the letter that could end the script element around it. */
    private static String json(PageModel model) {
        try {
            return new ObjectMapper()
                    .registerModule(new SimpleModule()
                            .addSerializer(double.class, ShortNumbers.INSTANCE)
                            .addSerializer(Double.class, ShortNumbers.INSTANCE))
                    .writeValueAsString(model)
                    .replace("<", "\\u003c");
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }

    private static String resource(String name) {
        try (InputStream in = MachinePage.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException("resource " + name + " of the page is missing; the jar is not whole");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
