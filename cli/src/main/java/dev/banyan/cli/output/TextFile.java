package dev.banyan.cli.output;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/** Files that commands write. */
public final class TextFile {
    private TextFile() {}

    /** Writes what a file holds. */
    public interface Content {
        void write(Path file) throws IOException;
    }

    /** Writes a file anew, in UTF-8 with a line feed after each line. */
    public static void write(Path file, List<String> lines) {
        write(file, String.join("\n", lines) + "\n");
    }

    /** Writes a file anew, in UTF-8. */
    public static void write(Path file, String text) {
        write(file, (Content) to -> Files.writeString(to, text));
    }

    /**
     * Writes a file.
     *
     * @throws UncheckedIOException if that fails: the message names the file and the remedy
     */
    public static void write(Path file, Content content) {
        try {
            content.write(file);
        } catch (IOException e) {
            String reason = switch (e) {
                case AccessDeniedException _ -> "permission denied";
                case NoSuchFileException _ -> "no such folder";
                default -> String.valueOf(e.getMessage());
            };
            throw new UncheckedIOException(
                    "can't write " + file + " (" + reason + "); name a file in another folder, or make room", e);
        }
    }
}
