package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Damaged files of users: sweeps, logs and descriptions are read or refused, and no damaged line of a header lets a
 * sweep pass that is refused as a whole.
 */
class DamagedSweepsTest {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final long LONGEST_NANOS = 10_000_000_000L;
    private static final long SEED = 20_261_126;

    private static final String HEADING = """
        #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
        #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
        """;
    /** Eight ranks. */
    private static final String ROWS = """
             1048576        262144     float     sum      -1    28.00   37.45   65.54      0    28.00   37.45   65.54      0
          1073741824     268435456     float     sum      -1   4300.0  249.71  436.99      0   4300.0  249.71  436.99      0
        # Out of bounds values : 0 OK
        """;

    /** The machines of public sweeps, by the begin of their files' names. */
    private static final Map<String, String> MACHINES = Map.ofEntries(
            Map.entry("030", "mi300x8"),
            Map.entry("031", "mi300x8"),
            Map.entry("033", "034b"),
            Map.entry("034_", "034b"),
            Map.entry("036", "dgx-b200"),
            Map.entry("037", "dgx-h100"),
            Map.entry("038", "dgx-h100"),
            Map.entry("039_", "039b"),
            Map.entry("042", "dgx-h100"),
            Map.entry("043", "010"),
            Map.entry("044", "dgx-h100"),
            Map.entry("045", "dgx-h100"),
            Map.entry("046", "dgx-h100"),
            Map.entry("047", "dgx-h100"),
            Map.entry("048", "dgx-h100"),
            Map.entry("049", "dgx-h100"),
            Map.entry("050", "dgx-h100"),
            Map.entry("080_", "080b"),
            Map.entry("081_", "081b"));

    private static final List<String> PIECES = List.of(
            "9223372036854775807",
            "-1",
            "1e999",
            "NaN",
            "0",
            "1",
            "8",
            "N/A",
            "\t",
            "\n",
            "\0",
            "#",
            "|",
            "[",
            "]",
            "{",
            "}",
            "<",
            "\"",
            "Rank",
            "GPU0",
            "NV18",
            "SYS",
            "\u20AC");

    @TempDir
    private Path folder = Path.of(""); // replaced by JUnit

    /**
     * A file and the command that reads it.
     *
     * @param command with FILE where the file's name stands
     */
    private record Sample(String command, String text) {}

    private static Sample sweep(String machine, String text) {
        return new Sample("validate --machine " + machine + " --sweeps FILE", text);
    }

    private static String ranks(int count, int perHost) {
        return "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1073741824 step: 2(factor)\n#\n# Using devices\n"
                + IntStream.range(0, count)
                        .mapToObj(i -> "#  Rank %2d Group  0 Pid %6d on node%d device %2d [0000:%02x:00] NVIDIA H100\n"
                                .formatted(i, 100 + i, i / perHost, i % perHost, 16 + i))
                        .collect(Collectors.joining());
    }

    /** Sweeps that are refused: of two hosts, of more ranks, without MPI, of CPU times, of another number of ranks. */
    private static List<Sample> refused() {
        String alone = IntStream.range(0, 8)
                .mapToObj(i -> "#  Rank  0 Group  0 Pid %6d on node0 device  0 [0000:10:00] NVIDIA H100\n".formatted(i))
                .collect(Collectors.joining());
        return List.of(
                sweep(
                        "dgx-h100",
                        ranks(16, 8) + HEADING + ROWS.replace("65.54", "70.22").replace("436.99", "468.20")),
                sweep("gb200-tray", ranks(8, 8) + HEADING + ROWS),
                sweep(
                        "dgx-h100",
                        alone + HEADING + ROWS.replace("65.54", "0.00").replace("436.99", "0.00")),
                sweep("dgx-h100", ranks(8, 8) + HEADING.replace("    time", " cputime") + ROWS),
                sweep("dgx-h100", HEADING + ROWS.replace("65.54", "71.78").replace("436.99", "478.61")));
    }

    private static Path cases() {
        Path cases = Path.of(System.getProperty("banyan.shared", ""), "cases");
        assumeTrue(Files.isDirectory(cases), () -> cases + " is not there; it is in the folder /shared/");
        return cases;
    }

    private static List<Sample> publicSamples() throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.list(cases())) {
            files = all.sorted().filter(file -> !file.endsWith("README.md")).toList();
        }
        List<Sample> samples = new ArrayList<>();
        for (Path file : files) {
            String name = String.valueOf(file.getFileName());
            String text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
            String machine = MACHINES.entrySet().stream()
                    .filter(entry -> name.startsWith(entry.getKey()))
                    .map(Map.Entry::getValue)
                    .findFirst()
                    .orElse("");
            if (machine.isEmpty()) {
                samples.add(
                        name.matches("09\\d[e_].*(p2p|blank).*")
                                ? new Sample("calibrate --machine pcie-8 --from FILE", text)
                                : new Sample("topo --machine FILE", text));
            } else {
                String prefix = machine;
                samples.add(sweep(
                        machine.matches("\\d.*")
                                ? files.stream()
                                        .filter(other -> String.valueOf(other.getFileName())
                                                .startsWith(prefix))
                                        .findFirst()
                                        .orElseThrow()
                                        .toString()
                                : machine,
                        text));
            }
        }
        return samples;
    }

    @Test
    void damagedFilesAreReadOrRefused() throws IOException {
        damage(
                Stream.concat(refused().stream(), Stream.of(sweep("dgx-h100", ranks(8, 8) + HEADING + ROWS)))
                        .toList(),
                120,
                SEED);
    }

    @Test
    @Tag("soak")
    void manyDamagedPublicFilesAreReadOrRefused() throws IOException {
        damage(publicSamples(), 24_000, SEED + 1);
    }

    @Test
    void noDamagedLineOfAHeaderLetsASweepPass() throws IOException {
        damageHeaders(refused(), 100, SEED + 2);
    }

    @Test
    @Tag("soak")
    void noDamagedLineOfAPublicHeaderLetsASweepPass() throws IOException {
        List<Sample> refused = new ArrayList<>(refused());
        for (Sample sample : publicSamples()) {
            if (sample.command().startsWith("validate")
                    && run(sample.command(), sample.text()).status() != 0) {
                refused.add(sample);
            }
        }
        damageHeaders(refused, 2_000, SEED + 3);
    }

    private CommandRun run(String command, String text) throws IOException {
        Path file = Files.writeString(folder.resolve("damaged"), text);
        return CommandRun.of(command.replace("FILE", file.toString()));
    }

    private void damage(List<Sample> samples, int rounds, long seed) throws IOException {
        Random random = new Random(seed);
        for (int round = 0; round < rounds; round++) {
            Sample sample = samples.get(round % samples.size());
            StringBuilder text = new StringBuilder(sample.text());
            int times = 1 + random.nextInt(4);
            for (int i = 0; i < times; i++) {
                mutate(text, random);
            }
            long begin = THREADS.getCurrentThreadCpuTime();
            CommandRun run = run(sample.command(), text.toString());
            String what = "round " + round + " of seed " + seed + ", " + sample.command() + "\n" + text;
            assertThat(run.status()).as(what).isIn(0, 1, 2);
            assertThat(run.err()).as(what).doesNotContain("internal error", "\tat ", "OutOfMemory");
            assertThat(THREADS.getCurrentThreadCpuTime() - begin).as(what).isLessThan(LONGEST_NANOS);
        }
    }

    private static void mutate(StringBuilder text, Random random) {
        int at = random.nextInt(text.length() + 1);
        int end = Math.min(text.length(), at + 1 + random.nextInt(40));
        String piece = PIECES.get(random.nextInt(PIECES.size()));
        switch (random.nextInt(6)) {
            case 0 -> text.delete(at, end);
            case 1 -> text.insert(at, piece);
            case 2 -> text.replace(at, end, piece);
            case 3 -> text.insert(at, text.substring(at, end));
            case 4 -> text.delete(text.lastIndexOf("\n", at) + 1, end);
            default -> text.setLength(at);
        }
    }

    /** Deletes one line of a header, or one of its words, or puts another word of the file or a piece in its place. */
    private void damageHeaders(List<Sample> samples, int rounds, long seed) throws IOException {
        Random random = new Random(seed);
        for (int round = 0; round < rounds; round++) {
            Sample sample = samples.get(round % samples.size());
            List<String> lines = new ArrayList<>(sample.text().lines().toList());
            int header = IntStream.range(0, lines.size())
                    .filter(line -> isRow(lines.get(line)))
                    .findFirst()
                    .orElse(lines.size());
            int line = random.nextInt(Math.max(1, header));
            String whole = lines.remove(line);
            if (random.nextInt(3) > 0) {
                lines.add(line, changed(whole, sample.text(), random));
            }
            CommandRun run = run(sample.command(), String.join("\n", lines) + "\n");
            assertThat(run.status())
                    .as("round " + round + " of seed " + seed + ", '" + whole + "' is now '"
                            + (line < lines.size() ? lines.get(line) : "") + "'\n" + run.out())
                    .isNotZero();
        }
    }

    /** A size, a count and a type. */
    private static boolean isRow(String line) {
        return !line.contains("#") && line.matches(".*\\b\\d+\\s+\\d+\\s+[a-z]\\w*\\s.*");
    }

    private static String changed(String line, String text, Random random) {
        String[] words = line.split("(?<=\\s)(?=\\S)");
        String[] others = text.split("\\s+");
        int at = random.nextInt(words.length);
        words[at] = switch (random.nextInt(3)) {
            case 0 -> "";
            case 1 -> others[random.nextInt(others.length)] + " ";
            default -> PIECES.get(random.nextInt(PIECES.size())) + " ";
        };
        return String.join("", words);
    }
}
