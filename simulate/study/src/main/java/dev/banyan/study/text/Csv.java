package dev.banyan.study.text;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Comma-separated values (RFC 4180). */
public final class Csv {
    private Csv() {}

    /** Returns cells as a line without its end. */
    public static String line(Collection<String> cells) {
        return cells.stream().map(Csv::quoted).collect(Collectors.joining(","));
    }

    /**
     * Prints rows below the names of the columns. A field of an object within a row has a column of its own, e.g.
     * {@code inPlace.timeUs}; an array is JSON in one cell, and arrays of objects are left out.
     */
    public static void print(PrintWriter out, JsonNode rows) {
        List<Map<String, String>> lines = new ArrayList<>();
        Set<String> columns = new LinkedHashSet<>();
        for (JsonNode row : rows) {
            Map<String, String> cells = new LinkedHashMap<>();
            add(cells, "", row);
            columns.addAll(cells.keySet());
            lines.add(cells);
        }
        out.println(line(columns));
        lines.forEach(cells -> out.println(line(
                columns.stream().map(column -> cells.getOrDefault(column, "")).toList())));
    }

    private static void add(Map<String, String> cells, String name, JsonNode value) {
        if (value.isObject()) {
            value.properties()
                    .forEach(field -> add(
                            cells, name.isEmpty() ? field.getKey() : name + "." + field.getKey(), field.getValue()));
        } else if (!value.path(0).isObject()) {
            cells.put(name, value.isArray() ? value.toString() : value.isNull() ? "" : value.asText());
        }
    }

    private static String quoted(String cell) {
        return cell.matches("[^\",\r\n]*") ? cell : '"' + cell.replace("\"", "\"\"") + '"';
    }
}
