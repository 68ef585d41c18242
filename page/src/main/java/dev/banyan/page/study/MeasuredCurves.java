package dev.banyan.page.study;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.banyan.config.internal.BoundedInput;
import dev.banyan.config.internal.UnreadableFileException;
import dev.banyan.page.model.Curve;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.measured.OwnSweep;
import dev.banyan.study.measured.PublishedSweep;
import dev.banyan.study.measured.sweep.MeasuredSweep;
import dev.banyan.study.measured.sweep.NcclSweepReader;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.topology.Machine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Reads measured times of all_reduce: JSON of {@code banyan bench}, text of nccl-tests, folders of a GPU day. */
public final class MeasuredCurves {
    private static final String ALL_REDUCE = Collective.ALL_REDUCE.label();

    /** Unlike the tag of a launcher before a line of nccl-tests, e.g. {@code [1,0]<stdout>:}. */
    private static final Pattern JSON_ROWS = Pattern.compile("\\[\\s*[\\[{\\]]");

    private MeasuredCurves() {}

    /**
     * Reads a file or folder.
     *
     * @param machine the page's machine
     * @throws IllegalArgumentException if it holds no times of all_reduce between so many devices
     */
    public static List<Curve> read(Path file, Machine machine) {
        int devices = machine.size();
        if (Files.isDirectory(file)) {
            return readFolder(file, devices);
        }
        String text = text(file);
        if (!isBench(text)) {
            return sweeps(file, machine);
        }
        List<Curve> curves = bench(file, text, devices);
        if (curves.isEmpty()) {
            throw new IllegalArgumentException("--results: " + file + " has no row of " + ALL_REDUCE + " between "
                    + devices + " ranks; give the JSON of a bench on the machine of the page");
        }
        return curves;
    }

    /** The JSON of a command, other than that of nccl-tests; older benches printed the rows alone. */
    private static boolean isBench(String text) {
        String start = text.stripLeading();
        return (start.startsWith("{") && !text.contains("\"out_of_place\""))
                || JSON_ROWS.matcher(start).lookingAt();
    }

    private static List<Curve> readFolder(Path folder, int devices) {
        List<Curve> curves = new ArrayList<>();
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.sorted().toList()) {
                String text = Files.isRegularFile(file) ? text(file) : "";
                if (isBench(text)) {
                    curves.addAll(bench(file, text, devices));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("--results: can't list " + folder + ": " + e.getMessage(), e);
        }
        if (curves.isEmpty()) {
            throw new IllegalArgumentException("--results: the folder " + folder + " has no output of a bench of "
                    + ALL_REDUCE + " between " + devices + " ranks; name the folder of a GPU day on this machine");
        }
        return curves;
    }

    private static String text(Path file) {
        try {
            return BoundedInput.USUAL.text(file);
        } catch (UnreadableFileException e) {
            throw new IllegalArgumentException(
                    "--results: " + file + ": " + e.reason() + "; name a file of results", e);
        }
    }

    /** A curve for each sweep of all_reduce in the file. */
    private static List<Curve> sweeps(Path file, Machine machine) {
        List<Curve> curves = new ArrayList<>();
        List<String> others = new ArrayList<>();
        for (MeasuredSweep sweep : NcclSweepReader.read(file)) {
            String name = name(file) + (sweep.isAlone() ? "" : ":" + sweep.line());
            PublishedSweep setting = OwnSweep.of(name, sweep, machine, OwnSweep.Stated.NOTHING);
            if (setting.collective() != Collective.ALL_REDUCE) {
                others.add(setting.collective().label());
                continue;
            }
            if (setting.machine().size() != machine.size()) {
                throw new IllegalArgumentException("--results: " + name + " is a sweep of "
                        + setting.machine().size() + " ranks, and the page shows " + machine.size()
                        + " devices; name those that took part by --devices");
            }
            if (sweep.run().wrong().isWrong()) {
                throw new IllegalArgumentException("--results: " + name + ": "
                        + sweep.run().wrong().sentence().orElseThrow() + "; give a sweep with right results");
            }
            curves.add(new Curve(
                    "NCCL, " + name,
                    true,
                    sweep.rows().stream()
                            .sorted(Comparator.comparingLong(MeasuredSweep.Row::bytes))
                            .map(row -> new Curve.Point(row.bytes(), row.us()))
                            .toList()));
        }
        if (curves.isEmpty()) {
            throw new IllegalArgumentException("--results: " + file + " is a sweep of " + String.join(", ", others)
                    + ", and a page shows " + ALL_REDUCE + "; give the output of all_reduce_perf");
        }
        return curves;
    }

    private static String name(Path file) {
        return String.valueOf(file.getFileName());
    }

    private static List<Curve> bench(Path file, String text, int devices) {
        Map<String, Map<Long, Double>> byAlgorithm = new LinkedHashMap<>();
        boolean measured = true;
        try {
            JsonNode json = new ObjectMapper().readTree(text);
            for (JsonNode row : json.isArray() ? json : json.path("rows")) {
                if (row.path("collective").asText().equals(ALL_REDUCE)
                        && row.path("ranks").asInt() == devices
                        && row.path("bytes").asLong() > 0
                        && row.path("timeUs").asDouble() > 0) {
                    byAlgorithm
                            .computeIfAbsent(name(row), _ -> new TreeMap<>())
                            .put(row.path("bytes").asLong(), row.path("timeUs").asDouble());
                    // Rows of the simulator say what it chose.
                    measured &= !row.has("choice");
                }
            }
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(
                    "--results: " + file + " is no whole JSON (" + e.getOriginalMessage()
                            + "); give what 'banyan bench --format json' printed",
                    e);
        }
        boolean timed = measured;
        return byAlgorithm.entrySet().stream()
                .map(entry -> new Curve(
                        entry.getKey() + ", " + name(file),
                        timed,
                        entry.getValue().entrySet().stream()
                                .map(point -> new Curve.Point(point.getKey(), point.getValue()))
                                .toList()))
                .toList();
    }

    /** Returns the algorithm of a row, with the generator of its trees. */
    private static String name(JsonNode row) {
        return ChoiceText.name(
                row.path("algorithm").asText(),
                row.has("trees") ? row.get("trees").asText() : null);
    }
}
