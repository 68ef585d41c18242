package dev.banyan.cli.gpuday;

import dev.banyan.cli.output.Numbers;
import dev.banyan.cli.output.TextFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Runs the parts one after the other. The folder is whole at any time: parts that have not run are in it as skipped.
 * Used by one thread.
 */
final class Day {
    /** How the command's errors begin. */
    private static final String SENTENCE = "banyan: ";

    private final Path folder;
    private final List<Part> parts;
    private final Predicate<String> wanted;
    private final Budget budget;
    private final boolean quick;
    private final Environment environment = Environment.here();
    private final List<PartResult> results = new ArrayList<>();
    private KnownGpus gpus = KnownGpus.NONE;

    /**
     * @param folder an empty folder
     * @param wanted whether a part of a name is to run
     */
    Day(Path folder, List<Part> parts, Predicate<String> wanted, Budget budget, boolean quick) {
        this.folder = folder;
        this.parts = parts;
        this.wanted = wanted;
        this.budget = budget;
        this.quick = quick;
    }

    /** @param progress takes a line for each part that has ended */
    void run(Consumer<String> progress) {
        for (Part part : parts) {
            results.add(PartResult.skipped(part, "it has not begun"));
            writePart(results.getLast());
        }
        writeSummary();
        for (int i = 0; i < parts.size(); i++) {
            PartResult result = run(i);
            results.set(i, result);
            writePart(result);
            writeSummary();
            progress.accept(result.part() + ": " + result.status().label()
                    + (result.command().isEmpty() ? "" : Numbers.format(", %.1f s", result.seconds()))
                    + (result.reason() == null ? "" : ": " + result.reason()));
        }
    }

    /** Returns what the parts did, in the order in which they ran. */
    List<DaySummary.Entry> entries() {
        return results.stream()
                .map(result -> new DaySummary.Entry(
                        result.part(),
                        result.status(),
                        result.reason(),
                        result.seconds(),
                        DayFolder.jsonFile(result.part())))
                .toList();
    }

    private PartResult run(int index) {
        Part part = parts.get(index);
        if (!wanted.test(part.name())) {
            return PartResult.skipped(part, "--parts does not name it");
        }
        List<Part> left = parts.subList(index, parts.size()).stream()
                .filter(each -> wanted.test(each.name()))
                .toList();
        Duration deadline = budget.of(left);
        if (deadline.isZero() && !budget.isFixed(part)) {
            return PartResult.skipped(
                    part, "no time was left of " + Numbers.plain(budget.whole().toMillis() / 6e4) + " minutes");
        }
        return switch (part.planner().apply(gpus, deadline)) {
            case Plan.Skip skip -> PartResult.skipped(part, skip.reason());
            case Plan.Run run -> run(part, run, deadline);
        };
    }

    private PartResult run(Part part, Plan.Run plan, Duration deadline) {
        Path out = folder.resolve(DayFolder.outFile(part.name()));
        Path err = folder.resolve(DayFolder.errFile(part.name()));
        PartOutput output = new PartOutput();
        PartResult.Status status;
        String reason = null;
        double seconds = 0;
        try {
            PartProcess.Ending ending = PartProcess.run(plan.command(), out, err, deadline);
            seconds = ending.seconds();
            String errors = DayFolder.text(err);
            read(plan.reader(), DayFolder.text(out), errors, output);
            reason = reason(ending, errors, output, deadline);
        } catch (UncheckedIOException e) {
            reason = e.getMessage();
        }
        if (reason != null) {
            status = PartResult.Status.FAILED;
        } else if (output.skipped != null) {
            status = PartResult.Status.SKIPPED;
            reason = output.skipped;
        } else {
            status = PartResult.Status.DONE;
        }
        if (!output.facts.isEmpty()) {
            gpus = new KnownGpus(output.facts);
        }
        for (Path file : List.of(out, err)) {
            if (DayFolder.text(file).isEmpty()) {
                delete(file);
            } else if (!output.files.contains(file.getFileName().toString())) {
                output.files.add(file.getFileName().toString());
            }
        }
        output.files.removeIf(file -> !Files.exists(folder.resolve(file)));
        return new PartResult(
                part.name(),
                part.what(),
                status,
                reason,
                seconds,
                deadline.toMillis() / 1e3,
                plan.command(),
                output.facts,
                output.figures,
                output.notes,
                output.files);
    }

    /** Reads what a part printed. A reader that throws fails its part alone: the parts after it still run. */
    private static void read(Plan.Reader reader, String out, String errors, PartOutput output) {
        try {
            reader.read(out, errors, output);
        } catch (RuntimeException e) {
            output.wrong = "its output can't be read: " + e;
        }
    }

    /** Why a part failed; null if it did not. */
    private static @Nullable String reason(
            PartProcess.Ending ending, String errors, PartOutput output, Duration deadline) {
        if (ending.status() == null) {
            return "it did not end within " + Numbers.plain(deadline.toMillis() / 1e3) + " s and was "
                    + (ending.gone() ? "ended" : "killed, but the system does not end it: the driver may hang");
        }
        if (ending.status() != 0) {
            return errors.lines()
                    .filter(line -> line.startsWith(SENTENCE))
                    .findFirst()
                    .map(line -> line.substring(SENTENCE.length()))
                    .orElse(
                            output.wrong != null
                                    ? output.wrong
                                    : "it ended with status " + ending.status() + first(errors));
        }
        return output.wrong;
    }

    private static String first(String errors) {
        return errors.lines()
                .filter(line -> !line.isBlank())
                .findFirst()
                .map(line -> ": " + line.strip())
                .orElse("");
    }

    private void writePart(PartResult result) {
        DayFolder.write(folder.resolve(DayFolder.jsonFile(result.part())), result);
    }

    private void writeSummary() {
        DaySummary summary = new DaySummary(
                DaySummary.FORMAT,
                DaySummary.VERSION,
                environment,
                gpus.driver(),
                gpus.cards(),
                budget.spent().toMillis() / 1e3,
                budget.whole().toMillis() / 1e3,
                quick,
                entries());
        DayFolder.write(folder.resolve(DayFolder.SUMMARY), summary);
        TextFile.write(folder.resolve(DayFolder.PAGE), DayPage.lines(summary, results));
    }

    private static void delete(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw new UncheckedIOException("can't remove " + file + " (" + e.getMessage() + ")", e);
        }
    }
}
