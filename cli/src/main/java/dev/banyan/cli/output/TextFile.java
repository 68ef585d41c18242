package dev.banyan.cli.output;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Files of lines that commands write. */
public final class TextFile {
    private TextFile() {}

    /** Writes a file anew, in UTF-8 with a line feed after each line. */
    public static void write(Path file, List<String> lines) {
        try {
            Files.writeString(file, String.join("\n", lines) + "\n", StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("can't write " + file + ": " + e.getMessage(), e);
        }
    }
}
