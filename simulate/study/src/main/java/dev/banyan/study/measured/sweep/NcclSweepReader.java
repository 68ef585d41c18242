package dev.banyan.study.measured.sweep;

import dev.banyan.InputException;
import dev.banyan.config.internal.Quote;
import dev.banyan.study.measured.sweep.Lines.Word;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Reads what nccl-tests or rccl-tests print, with launchers' prefixes or without, their JSON or CSV, or a table with
 * commas whose heading begins with {@code size}. Each run in a file, and in it each type and operation, is a sweep of
 * its own. Rows of 0 bytes, which nccl-tests print for sizes that can't be shared out, are left out. Safe for use from
 * any thread.
 */
public final class NcclSweepReader {
    private static final String NEED = "; give what nccl-tests printed, or a table with commas whose heading is"
            + " size_bytes,...,oop_time_us,...";
    private static final Pattern STARTING = Pattern.compile("Collective test starting: *(\\w{1,40}?)_perf");
    private static final Pattern MENTIONED = Pattern.compile("\\b(all_reduce|all_gather|reduce_scatter|broadcast|reduce"
            + "|alltoallv?|sendrecv|gather|scatter|hypercube)_perf(?![a-z])");
    private static final Pattern COMMANDED = Pattern.compile("\\b(\\w{1,40}?)_perf\\w{0,8}\\s+-{1,2}[a-zA-Z]");
    private static final Pattern OPTIONS = Pattern.compile("#\\s*nThread\\s+(\\d{1,4})\\s+nGpus\\s+(\\d{1,4})\\b");
    private static final Pattern FOOTER = Pattern.compile("Out of bounds values\\s*:\\s*\\d+\\s+(\\w+)");
    private static final Pattern STOPPED = Pattern.compile("Test (?:NCCL |CUDA |HIP |RCCL )?failure\\b");

    /** No line of nccl-tests has as many characters. */
    private static final int LONGEST = 4000;

    private final Lines lines;
    private final List<SweepSection> sections = new ArrayList<>();
    private final Set<String> mentioned = new HashSet<>();
    private @Nullable String commanded;
    private SweepSection section;

    private NcclSweepReader(Lines lines) {
        this.lines = lines;
        section = new SweepSection(lines);
    }

    /**
     * Reads the sweeps of a file, at least one.
     *
     * @throws InputException if it can't be read or understood
     */
    public static List<MeasuredSweep> read(Path file) {
        return sweeps(Lines.read(file));
    }

    /**
     * Reads the sweeps of a text.
     *
     * @param source what to call the text in messages, e.g. the file's name
     * @throws InputException if it can't be understood
     */
    public static List<MeasuredSweep> parse(String source, String text) {
        return sweeps(Lines.of(source, text));
    }

    private static List<MeasuredSweep> sweeps(Lines lines) {
        if (RcclSweepFile.isOne(lines)) {
            return apart(RcclSweepFile.read(lines));
        }
        if (NcclJsonSweep.isJson(lines)) {
            return List.of(NcclJsonSweep.read(lines));
        }
        return new NcclSweepReader(lines).console();
    }

    private List<MeasuredSweep> console() {
        sections.add(section);
        for (int line = 0; line < lines.lines().size(); line++) {
            String text = lines.lines().get(line);
            String low = text.strip().toLowerCase(Locale.ROOT);
            if (low.startsWith("size") && low.contains(",")) {
                return apart(
                        commas(line, Lines.cells(low).stream().map(Word::text).toList()));
            }
            if (text.length() > LONGEST) {
                continue;
            }
            line(line, LauncherPrefix.blanked(text.stripLeading().startsWith("|") ? text.replace('|', ' ') : text));
        }
        List<MeasuredSweep> sweeps =
                sections.stream().flatMap(each -> each.sweeps().stream()).toList();
        if (sweeps.isEmpty()) {
            throw nothing();
        }
        return apart(sweeps);
    }

    private static List<MeasuredSweep> apart(List<MeasuredSweep> sweeps) {
        return sweeps.size() == 1
                ? sweeps
                : sweeps.stream().map(MeasuredSweep::besideOthers).toList();
    }

    private InputException nothing() {
        String stopped = sections.stream()
                .flatMap(each -> each.stopped().stream())
                .findFirst()
                .map(line -> " ('" + line + "')")
                .orElse("");
        for (SweepSection each : sections) {
            SweepColumns columns = each.columns();
            if (columns != null) {
                return lines.wrong(columns.line(), 0, "no row follows this heading" + stopped + NEED);
            }
        }
        return new InputException(lines.source(), 0, 0, "holds no sweep" + stopped + NEED);
    }

    private void line(int line, String text) {
        Optional<SweepColumns> heading = SweepColumns.find(line, text);
        if (heading.isPresent()) {
            if (section.columns() != null) {
                next();
            }
            if (heading.get().isCpuTime()) {
                throw lines.wrong(
                        line,
                        0,
                        "the columns hold CPU times of launches (-C 1) and no times of the collective; measure"
                                + " without -C");
            }
            if (!heading.get().isWhole()) {
                throw lines.wrong(
                        line,
                        0,
                        "the heading has other columns than nccl-tests print; is it damaged? Give whole files");
            }
            section.heading(heading.get());
            return;
        }
        Matcher found = OPTIONS.matcher(text);
        if (found.find()) {
            // A header without rows is followed by another one where a run failed, or where nothing joined the
            // processes.
            if (section.hasRows() || section.ranks().stream().anyMatch(rank -> rank.rank() > 0)) {
                next();
            }
            section.perProcess(Integer.parseInt(found.group(1)) * Integer.parseInt(found.group(2)));
            return;
        }
        Optional<SweepRank> rank = SweepRank.find(text);
        if (rank.isPresent()) {
            if (section.hasRows()) {
                next();
            }
            section.rank(rank.get());
            return;
        }
        SweepColumns columns = section.columns();
        SweepColumns.Cells cells = columns == null ? null : columns.row(lines, line, behind(text, columns.prefix()));
        if (columns != null && cells != null) {
            section.row(line, columns, cells);
            return;
        }
        remark(text);
    }

    /** Blanks a prefix that is as long as that of the heading, of a kind that is not known. */
    private static String behind(String text, int prefix) {
        return prefix == 0
                        || text.length() <= prefix
                        || text.stripLeading().matches("\\d.*")
                        || text.substring(0, prefix).isBlank()
                ? text
                : " ".repeat(prefix) + text.substring(prefix);
    }

    private void next() {
        section = new SweepSection(lines);
        section.mentioned(mentioned);
        mentioned.clear();
        section.commanded(commanded);
        commanded = null;
        sections.add(section);
    }

    private void remark(String text) {
        Matcher found = STARTING.matcher(text);
        if (found.find()) {
            if (section.hasRows()) {
                next();
            }
            section.stated(found.group(1));
            return;
        }
        found = FOOTER.matcher(text);
        if (found.find()) {
            if (!found.group(1).equals("OK")) {
                section.failed();
            }
            return;
        }
        if (STOPPED.matcher(text).find()) {
            section.stopped(Quote.of(text.strip()));
            return;
        }
        found = COMMANDED.matcher(text);
        if (found.find()) {
            if (section.hasRows()) {
                commanded = found.group(1);
            } else {
                section.commanded(found.group(1));
            }
        }
        found = MENTIONED.matcher(text);
        while (found.find() && !text.contains("concluded")) {
            if (section.hasRows()) {
                mentioned.add(found.group(1));
            } else {
                section.mentioned(Set.of(found.group(1)));
            }
        }
    }

    private List<MeasuredSweep> commas(int heading, List<String> columns) {
        int time = columns.indexOf("oop_time_us");
        if (time < 0) {
            time = columns.indexOf("time_us");
        }
        if (time < 0) {
            throw lines.wrong(heading, 0, "the heading has no column oop_time_us" + NEED);
        }
        List<String> names = new ArrayList<>(columns);
        int end = time + 1;
        for (String name : List.of("algbw", "busbw", "wrong")) {
            if (end == names.size()
                    || !names.get(end).replaceFirst("^(oop_|#)", "").startsWith(name)) {
                break;
            }
            end++;
        }
        int first = time;
        int last = end;
        int count = columns.indexOf("count");
        SweepColumns under = new SweepColumns(
                heading,
                names.subList(0, last).stream()
                        .map(name -> name.replaceFirst("^oop_", ""))
                        .toList(),
                List.of(first),
                Integer.MAX_VALUE,
                0);
        for (int line = heading + 1; line < lines.lines().size(); line++) {
            String text = lines.lines().get(line);
            if (text.isBlank() || text.startsWith("#")) {
                continue;
            }
            List<Word> cells = Lines.cells(text);
            if (cells.size() != columns.size()) {
                throw lines.wrong(
                        line, 0, cells.size() + " cells under a heading of " + columns.size() + "; give whole rows");
            }
            section.row(
                    line,
                    under,
                    new SweepColumns.Cells(
                            cells.getFirst(),
                            count < 0 ? new Word("", 0) : cells.get(count),
                            labels(columns, cells),
                            List.of(cells.subList(first, last))));
        }
        section.heading(under);
        List<MeasuredSweep> sweeps = section.sweeps();
        if (sweeps.isEmpty()) {
            throw nothing();
        }
        return sweeps;
    }

    /** Returns the type, operation and root of a row, in this order; empty where one is not there. */
    private static List<String> labels(List<String> columns, List<Word> cells) {
        return Stream.of("type", "redop", "root")
                .map(name -> columns.contains(name)
                        ? cells.get(columns.indexOf(name)).text()
                        : "")
                .toList();
    }
}
