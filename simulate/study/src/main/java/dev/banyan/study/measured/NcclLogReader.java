package dev.banyan.study.measured;

import dev.banyan.InputException;
import dev.banyan.study.measured.sweep.Lines;
import dev.banyan.study.measured.sweep.MeasuredSweep;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Reads what NCCL prints with {@code NCCL_DEBUG=INFO}, of versions 2.4 to 2.28. Lines of other programs between NCCL's
 * are skipped, and so is what NCCL prints of further communicators. Safe for use from any thread.
 */
public final class NcclLogReader {
    private static final Pattern VERSION = Pattern.compile("NCCL version (\\d+\\.\\d+(?:\\.\\d+)?)");
    private static final Pattern RANKS = Pattern.compile("\\brank \\d+ n[rR]anks (\\d+)");
    /** {@code Channel 00/08 :    0   1   2}, and {@code Ring 00 :    0   1   2} until NCCL 2.4. */
    private static final Pattern RING = Pattern.compile("(?:Channel (\\d+)/\\d+|Ring (\\d+)) :((?:\\s+\\d+)+)\\s*$");
    /** {@code Channel 00/0 : 0[1a000] -> 1[1b000] via P2P/IPC/read}. */
    private static final Pattern HOP =
            Pattern.compile("(?:Channel|Ring) \\d+(?:/\\d+)? : (\\d+)\\[[0-9a-f]+\\] -> (\\d+)\\[[0-9a-f]+\\]"
                    + "(?: \\[(?:send|receive)\\])? via (\\S+(?: shared memory| pointer)?)");

    private static final Pattern SETTING =
            Pattern.compile("\\b(NCCL_[A-Z0-9_]+) set (?:by environment )?to '?([^\\s'.]+(?:\\.[^\\s'.]+)*)'?");
    /** {@code mpirun -x NCCL_ALGO=Ring}, {@code export NCCL_ALGO=Ring} and {@code NCCL_ALGO=Ring ./all_reduce_perf}. */
    private static final Pattern COMMAND =
            Pattern.compile("(?:^|\\s)(-x|-e|--env|export) +(NCCL_[A-Z0-9_]+)=([^\\s'\"\\\\;]+)"
                    + "|(?:^|\\s)(NCCL_[A-Z0-9_]+)=([^\\s'\"\\\\;]+)(?=(?: +[A-Z0-9_]+=\\S+)*+ +\\S*_perf\\b)");

    /** A word of every line that names the columns of a sweep. */
    private static final String HEADING = "algbw";

    private static final Pattern PROGRAM = Pattern.compile("_perf\\w*\\s+-");

    private static final Pattern DISABLED =
            Pattern.compile("P2P is disabled between (?:NVLINK )?connected GPUs (\\d+) and (\\d+)");
    private static final Pattern NO_NVLS = Pattern.compile("NVLS multicast support is not available");
    private static final Pattern NVLS = Pattern.compile("NVLS multicast support is available|[1-9]\\d* nvls channels");
    private static final Pattern CHANNELS = Pattern.compile("\\b(\\d+) coll channels");
    /** {@code AllReduce: 8388608 Bytes -> Algo 1 proto 2 time 83.5}, and names for numbers from NCCL 2.23 on. */
    private static final Pattern CHOICE =
            Pattern.compile("\\b(\\d{1,18}) Bytes -> Algo (\\w+) proto (\\w+)", Pattern.CASE_INSENSITIVE);

    private static final List<String> ALGORITHMS =
            List.of("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT");
    private static final List<String> PROTOCOLS = List.of("LL", "LL128", "Simple");

    private @Nullable String version;
    private int ranks;
    private int channels;
    private @Nullable Boolean nvls;
    private final Map<Integer, List<Integer>> rings = new TreeMap<>();
    private final Map<NcclLog.Pair, String> hops = new LinkedHashMap<>();
    private final Map<String, String> settings = new TreeMap<>();
    private final Set<NcclLog.Pair> disabled = new LinkedHashSet<>();
    private final Map<Long, String> choices = new TreeMap<>();

    private NcclLogReader() {}

    /**
     * Reads a file.
     *
     * @throws InputException if it can't be read, or holds nothing that NCCL prints
     */
    public static NcclLog read(Path file) {
        return whole(Lines.read(file));
    }

    /**
     * Reads a file of sweeps. The result finds the log that stands among the lines of one of them, with what its
     * command sets; empty if neither is there. Lines of other sweeps of the file do not count.
     */
    public static Function<MeasuredSweep, Optional<NcclLog>> within(Path file) {
        Lines all = Lines.read(file);
        return sweep -> find(all, sweep);
    }

    private static Optional<NcclLog> find(Lines all, MeasuredSweep sweep) {
        List<String> lines = all.lines();
        int heading = Math.min(sweep.line(), lines.size());
        int above = Math.max(0, heading - 1);
        while (above > 0 && !lines.get(above - 1).contains(HEADING)) {
            above--;
        }
        int below = heading;
        while (below < lines.size() && !lines.get(below).contains(HEADING)) {
            below++;
        }
        int first = above > 0 ? end(lines, above, heading) : 0;
        List<String> own = lines.subList(first, below < lines.size() ? end(lines, heading, below) : below);
        NcclLogReader reader = new NcclLogReader();
        own.stream().filter(line -> line.contains("NCCL INFO")).forEach(reader::line);
        reader.commands(lines.subList(first, heading));
        if (reader.isEmpty()) {
            return Optional.empty();
        }
        own.forEach(reader::line);
        return Optional.of(reader.log(all.source()));
    }

    /** Returns the index behind the first footer in a range, or of the first header; its begin if there is neither. */
    private static int end(List<String> lines, int first, int last) {
        for (int line = first; line < last; line++) {
            if (lines.get(line).contains("Avg bus bandwidth")) {
                return line + 1;
            }
            if (lines.get(line).contains("nThread ")) {
                return line;
            }
        }
        return first;
    }

    /** Settings before a program are of its run alone, unless they are exported. */
    private void commands(List<String> lines) {
        Map<String, String> exported = new LinkedHashMap<>();
        Map<String, String> once = new LinkedHashMap<>();
        boolean isOver = false;
        for (String line : lines) {
            if (line.startsWith("#")) {
                continue;
            }
            boolean isProgram = PROGRAM.matcher(line).find();
            Matcher found = COMMAND.matcher(line);
            if (isOver && (isProgram || found.find())) {
                once.clear();
                isOver = false;
            }
            found.reset();
            while (found.find()) {
                boolean isOption = found.group(2) != null;
                ("export".equals(found.group(1)) ? exported : once)
                        .put(found.group(isOption ? 2 : 4), found.group(isOption ? 3 : 5));
            }
            isOver |= isProgram;
        }
        once.forEach(settings::putIfAbsent);
        exported.forEach(settings::putIfAbsent);
    }

    /** Reads a text; as {@link #read}. */
    static NcclLog parse(String source, String text) {
        return whole(Lines.of(source, text));
    }

    private static NcclLog whole(Lines lines) {
        NcclLogReader reader = new NcclLogReader();
        lines.lines().forEach(reader::line);
        if (reader.isEmpty()) {
            throw new InputException(
                    lines.source(), 0, 0, "holds nothing that NCCL prints; run the program with NCCL_DEBUG=INFO");
        }
        return reader.log(lines.source());
    }

    private NcclLog log(String source) {
        return new NcclLog(
                source,
                Optional.ofNullable(version),
                ranks > 0
                        ? ranks
                        : rings.values().stream().mapToInt(List::size).max().orElse(0),
                new TreeMap<>(rings),
                Math.max(channels, rings.size()),
                hops,
                settings,
                List.copyOf(disabled),
                Optional.ofNullable(nvls),
                new TreeMap<>(choices));
    }

    private boolean isEmpty() {
        return version == null
                && nvls == null
                && channels == 0
                && rings.isEmpty()
                && hops.isEmpty()
                && settings.isEmpty()
                && disabled.isEmpty();
    }

    private void line(String line) {
        Matcher found = VERSION.matcher(line);
        if (version == null && found.find()) {
            version = found.group(1);
        }
        found = RANKS.matcher(line);
        if (ranks == 0 && found.find()) {
            ranks = number(found.group(1));
        }
        found = RING.matcher(line);
        if (found.find()) {
            int channel = number(found.group(1) == null ? found.group(2) : found.group(1));
            List<Integer> order = Arrays.stream(found.group(3).strip().split("\\s+"))
                    .map(NcclLogReader::number)
                    .toList();
            // Lines of many ranks are cut by NCCL.
            if (order.stream()
                    .sorted()
                    .toList()
                    .equals(IntStream.range(0, order.size()).boxed().toList())) {
                rings.putIfAbsent(channel, order);
            }
        }
        found = HOP.matcher(line);
        if (found.find()) {
            hops.putIfAbsent(
                    new NcclLog.Pair(number(found.group(1)), number(found.group(2))),
                    found.group(3).startsWith("direct") ? "SHM" : found.group(3));
        }
        found = SETTING.matcher(line);
        if (found.find()) {
            settings.putIfAbsent(found.group(1), found.group(2));
        }
        found = DISABLED.matcher(line);
        if (found.find()) {
            disabled.add(new NcclLog.Pair(number(found.group(1)), number(found.group(2))));
        }
        found = CHANNELS.matcher(line);
        if (channels == 0 && found.find()) {
            channels = number(found.group(1));
        }
        if (NO_NVLS.matcher(line).find()) {
            nvls = false;
        } else if (NVLS.matcher(line).find()) {
            nvls = true;
        }
        found = CHOICE.matcher(line);
        if (found.find()) {
            choices.putIfAbsent(
                    Long.parseLong(found.group(1)),
                    name(ALGORITHMS, found.group(2)) + "/" + name(PROTOCOLS, found.group(3)));
        }
    }

    /** A name that NCCL printed as such or as a number. */
    private static String name(List<String> names, String printed) {
        if (printed.matches("\\d+")) {
            int index = number(printed);
            return index < names.size() ? names.get(index) : printed;
        }
        List<String> known = new ArrayList<>(names);
        known.removeIf(name -> !name.equalsIgnoreCase(printed));
        return known.isEmpty() ? printed : known.getFirst();
    }

    /** Numbers of ranks and channels have few digits; others are no such numbers. */
    private static int number(String digits) {
        return digits.length() > 9 ? Integer.MAX_VALUE : Integer.parseInt(digits);
    }
}
