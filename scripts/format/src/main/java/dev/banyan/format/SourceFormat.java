package dev.banyan.format;

import com.palantir.javaformat.java.Formatter;
import com.palantir.javaformat.java.FormatterException;
import com.palantir.javaformat.java.JavaFormatterOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Formats the project's Java sources with palantir-java-format. It runs on the JDK that compiles them: Spotless runs
 * formatters on Maven's own JVM, and an older one cannot parse the language of JDK 25.
 */
public final class SourceFormat {
    private static final int COLUMNS = 120;

    private final Formatter formatter = Formatter.createFormatter(JavaFormatterOptions.builder()
            .style(JavaFormatterOptions.Style.PALANTIR)
            .build());

    /**
     * Formats all sources in place.
     *
     * @param args the root folder of the project
     */
    public static void main(String[] args) throws IOException {
        SourceFormat format = new SourceFormat();
        for (Path file : sources(Path.of(args[0]))) {
            String before = read(file);
            String after = format.format(file, before);
            if (!after.equals(before)) {
                Files.writeString(file, after);
                System.out.println("formatted " + file);
            }
        }
    }

    /** Returns the names of the files that are formatted otherwise. */
    List<String> unformatted(Path root) throws IOException {
        return sources(root).parallelStream()
                .filter(file -> !format(file, read(file)).equals(read(file)))
                .map(file -> root.relativize(file).toString())
                .toList();
    }

    /** Returns the file and the number of each line that is longer than 120 columns. */
    static List<String> longLines(Path root) throws IOException {
        List<String> found = new ArrayList<>();
        for (Path file : sources(root)) {
            boolean textBlock = false;
            List<String> lines = read(file).lines().toList();
            for (int i = 0; i < lines.size(); i++) {
                String line = lines.get(i);
                // Text blocks hold tables and output that cannot be wrapped.
                if (line.length() > COLUMNS && !textBlock) {
                    found.add(root.relativize(file) + ":" + (i + 1));
                }
                textBlock ^= (line.split("\"\"\"", -1).length - 1) % 2 == 1;
            }
        }
        return found;
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String format(Path file, String source) {
        try {
            return formatter.formatSourceAndFixImports(source);
        } catch (FormatterException e) {
            throw new IllegalStateException(file + " cannot be parsed: " + e.getMessage(), e);
        }
    }

    /** Returns all Java files of the project, sorted. */
    static List<Path> sources(Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            return files.filter(file -> file.toString().endsWith(".java"))
                    .filter(file -> !root.relativize(file).toString().contains("target/"))
                    .sorted()
                    .toList();
        }
    }
}
