package dev.banyan.format;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Links between documents lead to files and headings that exist, and docs/README.md lists every document. */
class DocumentLinksTest {
    private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
    private static final Pattern HEADING = Pattern.compile("^#+ (.*)$", Pattern.MULTILINE);
    private static final Pattern CODE = Pattern.compile("^```.*?^```$", Pattern.MULTILINE | Pattern.DOTALL);

    private final Path root = Path.of(System.getProperty("banyan.root"));

    @Test
    void linksLeadSomewhere() throws IOException {
        List<String> broken = new ArrayList<>();
        int links = 0;
        for (Path document : documents()) {
            Matcher link = LINK.matcher(prose(document));
            while (link.find()) {
                String target = link.group(1);
                if (!target.contains("://")) {
                    links++;
                    if (!exists(document, target)) {
                        broken.add(root.relativize(document) + ": " + target);
                    }
                }
            }
        }
        assertThat(links).as("relative links").isPositive();
        assertThat(broken).as("links to files or headings that do not exist").isEmpty();
    }

    @Test
    void theIndexListsEveryDocument() throws IOException {
        String index = Files.readString(root.resolve("docs/README.md"));
        try (Stream<Path> docs = Files.list(root.resolve("docs"))) {
            assertThat(docs.map(file -> file.getFileName().toString())
                            .filter(name -> name.endsWith(".md") && !name.equals("README.md")))
                    .isNotEmpty()
                    .allSatisfy(name -> assertThat(index).contains("[" + name + "](" + name + ")"));
        }
    }

    private List<Path> documents() throws IOException {
        List<Path> documents = new ArrayList<>();
        for (String folder : List.of("", "docs", "docs/figures")) {
            try (Stream<Path> files = Files.list(root.resolve(folder))) {
                files.filter(file -> file.toString().endsWith(".md")).forEach(documents::add);
            }
        }
        return documents;
    }

    private static boolean exists(Path document, String target) throws IOException {
        int hash = target.indexOf('#');
        String path = hash < 0 ? target : target.substring(0, hash);
        Path file = path.isEmpty() ? document : document.resolveSibling(path);
        return Files.exists(file) && (hash < 0 || headings(file).contains(target.substring(hash + 1)));
    }

    /** Returns the anchors of a document's headings: lower case, blanks as hyphens, without punctuation. */
    private static List<String> headings(Path document) throws IOException {
        return HEADING.matcher(prose(document))
                .results()
                .map(heading -> heading.group(1)
                        .toLowerCase(Locale.ROOT)
                        .replaceAll("[^\\p{L}\\p{N} _-]", "")
                        .replace(' ', '-'))
                .toList();
    }

    private static String prose(Path document) throws IOException {
        return CODE.matcher(Files.readString(document)).replaceAll("");
    }
}
