package dev.banyan.cli.gpuday;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.banyan.gpuday.Figure;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Finds figures in what a part's command printed. It also gets what a process printed that was ended. */
enum OutputReader implements Plan.Reader {
    /** Lines of {@link RecordLines}. */
    RECORDS {
        @Override
        public void read(String out, String err, PartOutput output) {
            RecordLines.read(out, output);
        }
    },
    /** What {@code banyan selftest} prints. */
    SELFTEST {
        @Override
        public void read(String out, String err, PartOutput output) {
            // A line for each algorithm; the sum of all is there at the end only.
            Matcher line = CASES.matcher(out);
            double passed = 0;
            double failed = 0;
            while (line.find()) {
                passed += Double.parseDouble(line.group(2));
                failed += Double.parseDouble(line.group(3));
            }
            output.figures.add(Figure.of("cases passed", Map.of(), "cases", passed));
            output.figures.add(Figure.of("cases failed", Map.of(), "cases", failed));
        }
    },
    /** What compute-sanitizer prints beside a selftest. */
    SANITIZER {
        @Override
        public void read(String out, String err, PartOutput output) {
            SELFTEST.read(out, err, output);
            Matcher summary = ERRORS.matcher(out + err);
            if (!summary.find()) {
                output.wrong = "compute-sanitizer printed no summary";
                return;
            }
            double errors = Double.parseDouble(summary.group(1));
            output.figures.add(Figure.of("errors", Map.of(), "errors", errors));
            if (errors > 0) {
                output.wrong = "compute-sanitizer found " + summary.group();
            }
        }
    },
    /** What {@code banyan bench --format json} prints. */
    BENCH {
        @Override
        public void read(String out, String err, PartOutput output) {
            if (out.isBlank()) {
                return;
            }
            try {
                for (JsonNode row : MAPPER.readTree(out).path("rows")) {
                    benchRow(row, output);
                }
            } catch (JsonProcessingException e) {
                output.wrong = "the rows of bench can't be read: " + e.getOriginalMessage();
            }
        }
    },
    /** Figures of the probe are in files of their own. */
    PROBE {
        @Override
        public void read(String out, String err, PartOutput output) {
            output.files.add(DayFolder.outFile("probe"));
            output.files.add(DayFolder.MACHINE);
            err.lines().filter(line -> line.startsWith("warning: ")).forEach(output.notes::add);
        }
    },
    /** What the example of a trainer prints: a table of losses; and what it logs. */
    TRAINER {
        @Override
        public void read(String out, String err, PartOutput output) {
            if (!readLosses(out, output)) {
                return;
            }
            if (!(out + err).contains("are summed up by Banyan")) {
                output.wrong = "the log does not say that Banyan sums up the gradients";
            }
        }
    };

    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final Pattern CASES =
            Pattern.compile("^([a-z-]+): (\\d+) passed, (\\d+) failed$", Pattern.MULTILINE);
    private static final Pattern LOSS = Pattern.compile("^(\\d+),(.*)$", Pattern.MULTILINE);
    private static final Pattern ERRORS = Pattern.compile("(?:ERROR|RACECHECK) SUMMARY: (\\d+)[^\\n]*");

    private static void benchRow(JsonNode row, PartOutput output) {
        Map<String, String> of = new LinkedHashMap<>();
        for (String key : List.of("collective", "algorithm", "bytes", "ranks", "keys", "inFlight")) {
            if (row.has(key)) {
                of.put(key, row.get(key).asText());
            }
        }
        addFigure(row, "medianUs", "median time of a call", "us", of, output);
        addFigure(row, "timeMs", "time of a round", "ms", of, output);
        addFigure(row, "algbwGBs", "algorithm bandwidth", "GB/s", of, output);
    }

    private static void addFigure(
            JsonNode row, String key, String name, String unit, Map<String, String> of, PartOutput output) {
        if (row.has(key) && row.get(key).isNumber()) {
            output.figures.add(Figure.of(name, of, unit, row.get(key).asDouble()));
        }
    }

    /**
     * Reads the lines of a table of losses, {@code step,loss}. A loss that is not a finite number makes the part wrong,
     * and no figure comes of the table: neither it nor a loss before it is the loss of the last step.
     *
     * @return whether there are losses, all of them finite
     */
    private static boolean readLosses(String out, PartOutput output) {
        Matcher line = LOSS.matcher(out);
        List<Double> losses = new ArrayList<>();
        while (line.find()) {
            double loss;
            try {
                loss = Double.parseDouble(line.group(2));
            } catch (NumberFormatException e) {
                output.wrong = "the loss of step " + line.group(1) + " is not a number: '" + line.group(2) + "'";
                return false;
            }
            if (!Double.isFinite(loss)) {
                output.wrong = "the training diverged: the loss of step " + line.group(1) + " is " + line.group(2);
                return false;
            }
            losses.add(loss);
        }
        if (losses.isEmpty()) {
            output.wrong = "the trainer printed no losses";
            return false;
        }
        output.figures.add(Figure.of("loss of the first step", Map.of(), "", losses.getFirst()));
        output.figures.add(Figure.of("loss of the last step", Map.of(), "", losses.getLast()));
        return true;
    }
}
