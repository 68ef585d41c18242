package dev.banyan.study.measured;

import dev.banyan.InputException;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.measured.sweep.MeasuredSweep;
import dev.banyan.study.measured.sweep.NcclSweepReader;
import dev.banyan.topology.Machine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The sweeps of several files, each with what was predicted for it.
 *
 * @param sweeps in the order of the published sweeps, then by name
 * @param leftOut files that are no sweeps that can be compared, each with the reason
 */
public record ComparedSweeps(List<ComparedSweep> sweeps, List<String> leftOut) {
    public ComparedSweeps {
        sweeps = List.copyOf(sweeps);
        leftOut = List.copyOf(leftOut);
    }

    /**
     * Reads sweeps.
     *
     * @param paths files, and folders of which all files are read
     * @param own the machine of sweeps of one's own; empty for published sweeps, which name their machines
     * @param stated statements on sweeps of one's own, with the log of all; without one each file may have its own
     * @param profile constants of the predictions; null for those that fit each machine
     * @throws IllegalStateException if there is no sweep
     */
    public static ComparedSweeps read(
            List<Path> paths, Optional<Machine> own, OwnSweep.Stated stated, @Nullable Profile profile) {
        List<ComparedSweep> found = new ArrayList<>();
        List<String> leftOut = new ArrayList<>();
        List<InputException> refused = new ArrayList<>();
        for (Path file : files(paths)) {
            String name = name(file);
            Optional<PublishedSweep> published = own.isPresent() ? Optional.empty() : PublishedSweeps.find(name);
            if (own.isEmpty() && published.isEmpty()) {
                leftOut.add(name + ": "
                        + PublishedSweeps.leftOut(name).orElse("not known; say by --machine on what it was measured"));
                continue;
            }
            attempt(refused, () -> {
                List<MeasuredSweep> all = NcclSweepReader.read(file);
                Function<MeasuredSweep, Optional<NcclLog>> logs =
                        stated.log().isPresent() ? _ -> stated.log() : NcclLogReader.within(file);
                for (MeasuredSweep sweep : all) {
                    attempt(refused, () -> {
                        Optional<NcclLog> log = logs.apply(sweep);
                        PublishedSweep setting = published.orElseGet(() -> OwnSweep.of(
                                name + (sweep.isAlone() ? "" : ":" + sweep.line()),
                                sweep,
                                own.orElseThrow(),
                                stated.with(log)));
                        found.add(ComparedSweep.of(
                                setting, sweep, profile == null ? Profiles.of(setting.machine()) : profile, log));
                    });
                }
            });
        }
        refused.forEach(each -> leftOut.add(each.getMessage()));
        if (found.isEmpty() && !refused.isEmpty()) {
            throw refused.getFirst();
        }
        if (found.isEmpty()) {
            throw new IllegalStateException("nothing to compare; name files of nccl-tests by --sweeps"
                    + (leftOut.isEmpty() ? "" : "; left out: " + String.join("; ", leftOut)));
        }
        return new ComparedSweeps(found, leftOut);
    }

    /** A sweep that is refused leaves the others of its file as they are. */
    private static void attempt(List<InputException> refused, Runnable reading) {
        try {
            reading.run();
        } catch (InputException e) {
            refused.add(e);
        }
    }

    /** Returns the files of folders in the order of the published sweeps, then by name. */
    private static List<Path> files(List<Path> paths) {
        List<Path> files = new ArrayList<>();
        for (Path path : paths) {
            if (!Files.isDirectory(path)) {
                files.add(path);
                continue;
            }
            try (Stream<Path> inside = Files.list(path)) {
                List<Path> sorted = inside.filter(Files::isRegularFile).sorted().toList();
                List<String> known =
                        PublishedSweeps.all().stream().map(PublishedSweep::file).toList();
                known.forEach(name ->
                        sorted.stream().filter(file -> file.endsWith(name)).forEach(files::add));
                sorted.stream().filter(file -> !known.contains(name(file))).forEach(files::add);
            } catch (IOException e) {
                throw new UncheckedIOException("can't list " + path + " (" + e.getMessage() + ")", e);
            }
        }
        return files;
    }

    private static String name(Path file) {
        return String.valueOf(file.getFileName());
    }
}
