package dev.banyan.cli.gpuday;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.cli.output.TextFile;
import dev.banyan.config.internal.BoundedInput;
import dev.banyan.config.internal.UnreadableFileException;
import dev.banyan.gpuday.Figure;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A folder of results: one JSON file for each part, a summary as JSON, and a page of text. */
public final class DayFolder {
    /** The machine, as {@code --machine} reads it. */
    static final String MACHINE = "machine.json";

    static final String SUMMARY = "summary.json";
    static final String PAGE = "summary.txt";

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final Path folder;
    private final boolean quick;
    private final List<PartResult> parts;

    private DayFolder(Path folder, boolean quick, List<PartResult> parts) {
        this.folder = folder;
        this.quick = quick;
        this.parts = parts;
    }

    static String jsonFile(String part) {
        return part + ".json";
    }

    static String outFile(String part) {
        return part + ".out.txt";
    }

    static String errFile(String part) {
        return part + ".err.txt";
    }

    /**
     * Makes a folder for results.
     *
     * @throws UncheckedIOException if that fails or it holds something; the message is one sentence
     */
    static void create(Path folder) {
        try {
            Files.createDirectories(folder);
            try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
                if (files.iterator().hasNext()) {
                    throw new IllegalArgumentException(
                            folder + " is there and not empty; name another folder with --output");
                }
            }
            // Whether it can be written to is known when it has been.
            Path trial = folder.resolve(SUMMARY);
            Files.writeString(trial, "");
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "can't write to the folder " + folder + " (" + e.getClass().getSimpleName() + " of "
                            + e.getMessage() + "); name another one with --output",
                    e);
        }
    }

    /** Writes a value as JSON. */
    static void write(Path file, Object value) {
        try {
            TextFile.write(file, MAPPER.writerWithDefaultPrettyPrinter().writeValueAsString(value) + "\n");
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Reads a folder that {@code banyan gpu-day} wrote.
     *
     * @throws IllegalArgumentException if it is not there, or not such a folder, or not whole; the message is one
     *     sentence
     */
    public static DayFolder read(Path folder) {
        if (!Files.isDirectory(folder)) {
            throw new IllegalArgumentException(
                    "there is no folder " + folder + "; name one that banyan gpu-day has written");
        }
        Path file = folder.resolve(SUMMARY);
        if (!Files.exists(file)) {
            throw new IllegalArgumentException(folder + " is no folder of banyan gpu-day, as it has no " + SUMMARY
                    + "; name one that banyan gpu-day has written");
        }
        DaySummary summary = value(file, DaySummary.class);
        if (!DaySummary.FORMAT.equals(summary.format()) || summary.version() != DaySummary.VERSION) {
            throw new IllegalArgumentException(file + " is of the format \"" + summary.format() + "\", version "
                    + summary.version() + "; it must be \"" + DaySummary.FORMAT + "\", version " + DaySummary.VERSION);
        }
        if (summary.parts() == null) {
            throw new IllegalArgumentException(file + " names no parts; run banyan gpu-day again");
        }
        List<PartResult> parts = new ArrayList<>();
        for (DaySummary.Entry entry : summary.parts()) {
            if (entry == null || entry.file() == null) {
                throw new IllegalArgumentException(file + " names a part without its file; run banyan gpu-day again");
            }
            Path result = partFile(file, entry.file());
            PartResult part = value(result, PartResult.class);
            if (part.part() == null
                    || part.status() == null
                    || part.figures() == null
                    || part.figures().stream().anyMatch(Objects::isNull)) {
                throw new IllegalArgumentException(
                        result + " has no name, no status or no figures; run banyan gpu-day again");
            }
            parts.add(part);
        }
        return new DayFolder(folder, summary.quick(), List.copyOf(parts));
    }

    /** Returns the file of a part, which must lie in the folder itself. */
    private static Path partFile(Path summary, String name) {
        if (!name.matches("[A-Za-z0-9][A-Za-z0-9._-]*")) {
            throw new IllegalArgumentException(summary + " names the file '" + TerminalText.of(name)
                    + "' of a part, which must be in the same folder; run banyan gpu-day again");
        }
        return summary.resolveSibling(name);
    }

    private static <T> T value(Path file, Class<T> type) {
        try {
            T value = MAPPER.readValue(BoundedInput.USUAL.text(file), type);
            if (value == null) {
                throw new IllegalArgumentException(file + " holds null; run banyan gpu-day again");
            }
            return value;
        } catch (JsonProcessingException e) {
            String place = e.getLocation() == null
                    ? ""
                    : " at line " + e.getLocation().getLineNr() + ", column "
                            + e.getLocation().getColumnNr();
            throw new IllegalArgumentException(
                    file + " can't be understood" + place + " ("
                            + e.getOriginalMessage().lines().findFirst().orElse("") + "); run banyan gpu-day again",
                    e);
        } catch (UnreadableFileException e) {
            throw new IllegalArgumentException(
                    e.getCause() instanceof NoSuchFileException
                            ? file + " is missing, though " + SUMMARY + " names it; copy the whole folder"
                            : file + ": " + e.reason() + "; run banyan gpu-day again",
                    e);
        }
    }

    /** Whether arrays and repetitions were as few as possible, so that figures mean nothing. */
    public boolean isQuick() {
        return quick;
    }

    /** Figures of one name that a part measured before it ended, whatever its end. */
    public List<Figure> figures(String part, String name) {
        return parts.stream()
                .filter(each -> each.part().equals(part))
                .flatMap(each -> each.figures().stream())
                .filter(figure -> figure.name().equals(name))
                .toList();
    }

    /** What {@code banyan probe --measure} printed; empty if that part is not done. */
    public Optional<Path> copies() {
        return ofProbe(outFile("probe"));
    }

    /** The machine's description; empty if the probe is not done. */
    public Optional<Path> machine() {
        return ofProbe(MACHINE);
    }

    private Optional<Path> ofProbe(String name) {
        Path file = folder.resolve(name);
        boolean done = parts.stream().anyMatch(part -> part.part().equals("probe") && part.isDone());
        return done && Files.exists(file) ? Optional.of(file) : Optional.empty();
    }

    /** Text of a file that a process wrote; empty where there is none. Bytes that are no text are replaced. */
    static String text(@Nullable Path file) {
        try {
            return file == null || !Files.exists(file)
                    ? ""
                    : new String(BoundedInput.USUAL.bytes(file), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("can't read " + file + " (" + e.getMessage() + ")", e);
        }
    }

    @Override
    public String toString() {
        return folder.toString();
    }
}
