package dev.banyan.study.measured.sweep;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.banyan.InputException;
import dev.banyan.config.internal.Quote;
import dev.banyan.study.measured.sweep.Lines.Word;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Reads the files that rccl-tests write with {@code -x FILE}, {@code -Z csv} or {@code -Z json}: one figure a line, out
 * of place or in place. With MPI their CSV has a column more than its heading names, that of the number of machines.
 */
final class RcclSweepFile {
    private static final String FIRST = "numcycle";
    private static final int MOST_RANKS = 100_000;
    private static final SweepColumns COLUMNS = new SweepColumns(
            0, List.of("size", "type", "redop", "time", "algbw", "busbw", "#wrong"), List.of(3), Integer.MAX_VALUE, 0);

    private final Lines lines;
    private final SweepSection section;

    private RcclSweepFile(Lines lines) {
        this.lines = lines;
        section = new SweepSection(lines);
    }

    static boolean isOne(Lines lines) {
        return lines.lines().stream()
                .map(line -> line.strip().toLowerCase(Locale.ROOT))
                .filter(line -> !line.isEmpty() && !line.equals("["))
                .findFirst()
                .filter(line -> line.startsWith(FIRST) || line.matches("\\[?\\{\\s*\"" + FIRST + "\".*"))
                .isPresent();
    }

    static List<MeasuredSweep> read(Lines lines) {
        return new RcclSweepFile(lines).sweeps();
    }

    private List<MeasuredSweep> sweeps() {
        List<Map<String, String>> figures = isJson() ? json() : commas();
        boolean hasOutOfPlace = figures.stream().anyMatch(figure -> "0".equals(figure.get("inplace")));
        section.heading(COLUMNS);
        for (Map<String, String> figure : figures) {
            if ("0".equals(figure.get(FIRST)) && (hasOutOfPlace ? "0" : "1").equals(figure.get("inplace"))) {
                if (!section.hasRows()) {
                    run(figure);
                }
                section.row(0, COLUMNS, cells(figure));
            }
        }
        List<MeasuredSweep> sweeps = section.sweeps();
        if (sweeps.isEmpty()) {
            throw wrong(0, "holds no figure of the first cycle; give all that rccl-tests -x wrote");
        }
        return sweeps;
    }

    private boolean isJson() {
        return lines.lines().stream().anyMatch(line -> line.stripLeading().matches("[\\[{].*"));
    }

    /** The ranks are numbered by processes, of which each has as many GPUs. */
    private void run(Map<String, String> figure) {
        section.stated(program(figure.getOrDefault("name", "")));
        int perProcess = number(figure.getOrDefault("gpusperrank", figure.getOrDefault("gpus", "0")));
        int processes = number(figure.getOrDefault("ranks", "1"));
        int perHost = Math.max(1, number(figure.getOrDefault("ranksperhost", Integer.toString(processes))));
        if (processes * perProcess > MOST_RANKS) {
            throw wrong(0, processes + " processes of " + perProcess + " GPUs are more than " + MOST_RANKS + " ranks");
        }
        section.perProcess(perProcess);
        for (int rank = 0; rank < processes * perProcess; rank++) {
            int process = rank / perProcess;
            section.rank(
                    new SweepRank(rank, process, "node " + process / perHost, rank % (perHost * perProcess), "", ""));
        }
    }

    /** Returns nccl-tests' name of a collective, e.g. {@code all_reduce} for {@code AllReduce}. */
    private static String program(String name) {
        return name.replaceAll("(?<=[a-z])(?=[A-Z])", "_").toLowerCase(Locale.ROOT);
    }

    private int number(String text) {
        if (!text.matches("\\d{1,4}")) {
            throw wrong(0, "'" + Quote.of(text) + "' is no number of ranks or GPUs from 0 to 9999");
        }
        return Integer.parseInt(text);
    }

    private SweepColumns.Cells cells(Map<String, String> figure) {
        List<Word> words = List.of("time", "algbw", "busbw", "wrong").stream()
                .map(name -> new Word(figure.getOrDefault(name, ""), 0))
                .toList();
        return new SweepColumns.Cells(
                new Word(figure.getOrDefault("size", ""), 0),
                new Word("", 0),
                List.of(figure.getOrDefault("type", ""), figure.getOrDefault("redop", "")),
                List.of(words));
    }

    private List<Map<String, String>> json() {
        List<Map<String, String>> figures = new ArrayList<>();
        try (MappingIterator<JsonNode> values =
                JsonMapper.builder().build().readerFor(JsonNode.class).readValues(String.join("\n", lines.lines()))) {
            while (values.hasNextValue()) {
                JsonNode value = values.nextValue();
                for (JsonNode one : value.isArray() ? value : List.of(value)) {
                    Map<String, String> figure = new LinkedHashMap<>();
                    one.properties().forEach(entry -> figure.put(key(entry.getKey()), text(entry.getValue())));
                    figures.add(checked(0, figure));
                }
            }
        } catch (JsonProcessingException e) {
            throw wrong(
                    e.getLocation() == null ? 0 : e.getLocation().getLineNr() - 1,
                    "is no whole JSON (" + Quote.of(e.getOriginalMessage()) + "); give all that rccl-tests -x wrote");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return figures;
    }

    private static String key(String name) {
        String low = name.toLowerCase(Locale.ROOT).replace("#", "");
        return switch (low) {
            case "rankspernode" -> "ranksperhost";
            case "collective" -> "name";
            default -> low;
        };
    }

    private static String text(JsonNode value) {
        return value.isFloatingPointNumber() ? String.format(Locale.ROOT, "%.6f", value.asDouble()) : value.asText();
    }

    private List<Map<String, String>> commas() {
        List<String> names = new ArrayList<>();
        List<Map<String, String>> figures = new ArrayList<>();
        for (int line = 0; line < lines.lines().size(); line++) {
            List<String> cells = Lines.cells(lines.lines().get(line)).stream()
                    .map(cell -> cell.text().replaceAll("^\"|\"$", ""))
                    .toList();
            if (lines.lines().get(line).isBlank()) {
                continue;
            }
            if (names.isEmpty()) {
                cells.forEach(cell -> names.add(key(cell)));
                continue;
            }
            if (cells.size() == names.size() + 1 && names.contains("ranks") && !names.contains("nodes")) {
                names.add(names.indexOf("ranks"), "nodes");
            }
            if (cells.size() != names.size()) {
                throw wrong(line, cells.size() + " cells under a heading of " + names.size() + "; give whole rows");
            }
            Map<String, String> figure = new LinkedHashMap<>();
            for (int cell = 0; cell < cells.size(); cell++) {
                figure.put(names.get(cell), cells.get(cell));
            }
            figures.add(checked(line, figure));
        }
        return figures;
    }

    private Map<String, String> checked(int line, Map<String, String> figure) {
        for (String name : List.of(FIRST, "size", "inplace", "time")) {
            if (figure.getOrDefault(name, "").isEmpty()) {
                throw wrong(line, "a figure has no " + name + "; give all that rccl-tests -x wrote");
            }
        }
        // A cell that is lost moves all others by one column.
        if (!figure.getOrDefault("type", "").matches("[a-z]\\w*")) {
            throw wrong(line, "'" + Quote.of(figure.getOrDefault("type", "")) + "' is no type; give whole rows");
        }
        return figure;
    }

    private InputException wrong(int line, String problem) {
        return lines.wrong(line, 0, problem);
    }
}
