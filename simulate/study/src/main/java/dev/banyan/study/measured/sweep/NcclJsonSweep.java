package dev.banyan.study.measured.sweep;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.banyan.InputException;
import dev.banyan.config.internal.Quote;
import dev.banyan.study.measured.sweep.Lines.Word;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** Reads the JSON that nccl-tests write with {@code -J}. */
final class NcclJsonSweep {
    private static final List<String> PLACES = List.of("out_of_place", "in_place");
    private static final SweepColumns COLUMNS = new SweepColumns(
            0,
            List.of(
                    "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw",
                    "busbw", "#wrong"),
            List.of(5, 9),
            Integer.MAX_VALUE,
            0);

    private NcclJsonSweep() {}

    static boolean isJson(Lines lines) {
        return lines.lines().stream()
                .map(String::strip)
                .filter(line -> !line.isEmpty())
                .findFirst()
                .map(line -> line.startsWith("{"))
                .orElse(false);
    }

    static MeasuredSweep read(Lines lines) {
        JsonNode whole;
        try {
            whole = JsonMapper.builder().build().readTree(String.join("\n", lines.lines()));
        } catch (JsonProcessingException e) {
            throw new InputException(
                    lines.source(),
                    e.getLocation() == null ? 0 : e.getLocation().getLineNr(),
                    e.getLocation() == null ? 0 : e.getLocation().getColumnNr(),
                    "is no whole JSON (" + Quote.of(e.getOriginalMessage()) + "); give all that nccl-tests -J wrote");
        }
        SweepSection section = new SweepSection(lines);
        section.heading(COLUMNS);
        JsonNode config = whole.path("config");
        section.perProcess(
                config.path("nthreads").asInt() * config.path("ngpus").asInt());
        JsonNode devices = config.has("devices") ? config.get("devices") : whole.path("devices");
        for (JsonNode device : devices) {
            section.rank(new SweepRank(
                    device.path("rank").asInt(),
                    device.path("pid").asLong(),
                    device.path("hostname").asText(),
                    device.path("device").asInt(),
                    device.path("device_hex").asText().toLowerCase(Locale.ROOT),
                    device.path("device_info").asText()));
        }
        String program = whole.path("args").path(0).asText();
        if (program.endsWith("_perf")) {
            section.stated(program.substring(program.lastIndexOf('/') + 1).replaceFirst("_perf$", ""));
        }
        for (JsonNode result : whole.path("results")) {
            section.row(0, COLUMNS, cells(lines, result));
        }
        if (whole.path("out_of_bounds").path("count").asLong() > 0) {
            section.failed();
        }
        List<MeasuredSweep> sweeps = section.sweeps();
        if (sweeps.size() != 1) {
            throw new InputException(
                    lines.source(),
                    0,
                    0,
                    "has " + (sweeps.isEmpty() ? "no results" : "results of several types and operations")
                            + "; give the JSON that nccl-tests -J wrote, of one type and operation");
        }
        return sweeps.getFirst();
    }

    private static SweepColumns.Cells cells(Lines lines, JsonNode result) {
        List<List<Word>> figures = new ArrayList<>();
        for (String place : PLACES) {
            JsonNode one = result.path(place);
            if (one.has("cpu_time")) {
                throw new InputException(
                        lines.source(),
                        0,
                        0,
                        "holds CPU times of launches (-C 1) and no times of the collective; measure without -C");
            }
            figures.add(
                    one.isObject()
                            ? List.of(
                                    word(one.path("time")),
                                    word(one.path("alg_bw")),
                                    word(one.path("bus_bw")),
                                    word(one.path("nwrong")))
                            : List.of());
        }
        List<String> labels = Stream.of("type", "redop", "root")
                .map(name -> result.path(name).asText().strip())
                .toList();
        return new SweepColumns.Cells(word(result.path("size")), word(result.path("count")), labels, figures);
    }

    private static Word word(JsonNode node) {
        if (node.isFloatingPointNumber()) {
            return new Word(String.format(Locale.ROOT, "%.6f", node.asDouble()), 0);
        }
        return new Word(node.isNull() ? "N/A" : node.asText(), 0);
    }
}
