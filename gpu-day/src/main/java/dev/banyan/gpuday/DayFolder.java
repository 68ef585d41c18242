package dev.banyan.gpuday;

import com.fasterxml.jackson.core.JsonProcessingException;
import dev.banyan.config.internal.BoundedInput;
import dev.banyan.config.internal.UnreadableFileException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A folder that {@code scripts/gpu-day.sh} wrote: a file for each part. */
public final class DayFolder {
    private static final String MACHINE = "machine.json";
    private static final String CARDS = "cards.jsonl";

    private final Path folder;
    private final Map<String, List<RecordLines.Line>> parts = new HashMap<>();

    /**
     * Opens a folder. Its files are read when they are asked for.
     *
     * @throws IllegalArgumentException if it is no folder of a GPU day; the message is one sentence
     */
    public DayFolder(Path folder) {
        if (!Files.exists(folder.resolve(CARDS))) {
            throw new IllegalArgumentException(folder + " is no folder of gpu-day.sh, as it has no " + CARDS
                    + "; name one that scripts/gpu-day.sh has written");
        }
        this.folder = folder;
    }

    /** Returns whether arrays and repetitions were as few as possible, so that figures mean nothing. */
    public boolean isQuick() {
        return lines("cards").stream()
                .map(RecordLines.Line::fact)
                .anyMatch(fact -> fact != null && RecordLines.QUICK.equals(fact.name()));
    }

    /**
     * Returns the figures of one name that a part measured before it ended, whatever its end.
     *
     * @throws IllegalArgumentException if the part's file can't be read; the message is one sentence
     */
    public List<Figure> figures(String part, String name) {
        return lines(part).stream()
                .map(RecordLines.Line::figure)
                .filter(Objects::nonNull)
                .filter(figure -> figure.name().equals(name))
                .toList();
    }

    /** Returns what {@code banyan probe --measure} printed; empty if that part is not done. */
    public Optional<Path> copies() {
        return machine().isEmpty() ? Optional.empty() : file("probe.txt");
    }

    /** Returns the machine's description; empty if the probe is not done, which writes it last. */
    public Optional<Path> machine() {
        return file(MACHINE);
    }

    private Optional<Path> file(String name) {
        return Optional.of(folder.resolve(name)).filter(Files::exists);
    }

    private List<RecordLines.Line> lines(String part) {
        return parts.computeIfAbsent(
                part, name -> file(name + ".jsonl").map(DayFolder::read).orElse(List.of()));
    }

    private static List<RecordLines.Line> read(Path file) {
        String text;
        try {
            text = BoundedInput.USUAL.text(file);
        } catch (UnreadableFileException e) {
            throw new IllegalArgumentException(file + ": " + e.reason() + "; run gpu-day.sh again", e);
        }
        // A part that was ended leaves a last line without its end.
        List<String> whole =
                text.substring(0, text.lastIndexOf('\n') + 1).lines().toList();
        List<RecordLines.Line> lines = new ArrayList<>();
        for (String line : whole) {
            RecordLines.@Nullable Line read;
            try {
                read = RecordLines.read(line);
            } catch (JsonProcessingException e) {
                throw unreadable(file, lines.size(), e);
            }
            if (read == null) {
                throw unreadable(file, lines.size(), null);
            }
            lines.add(read);
        }
        return lines;
    }

    private static IllegalArgumentException unreadable(Path file, int before, @Nullable JsonProcessingException cause) {
        return new IllegalArgumentException(
                file + " can't be understood at line " + (before + 1) + "; run gpu-day.sh again", cause);
    }

    @Override
    public String toString() {
        return folder.toString();
    }
}
