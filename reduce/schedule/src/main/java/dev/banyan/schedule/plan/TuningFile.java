package dev.banyan.schedule.plan;

import dev.banyan.config.Config;
import dev.banyan.config.internal.BoundedInput;
import dev.banyan.config.internal.UnreadableFileException;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Machine;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The file of {@code banyan tune}: a section for each platform and machine. A section begins with the line {@code
 * [tuning]}; each further line is {@code name = value}. Lines that begin with # are left out.
 *
 * @param sections in the order of the file; no two of the same platform and links
 */
public record TuningFile(List<Tuning> sections) {
    /** A file without a section. */
    public static final TuningFile EMPTY = new TuningFile(List.of());

    private static final BoundedInput LIMIT = new BoundedInput(1 << 20, 20_000);
    private static final String HEADING = "[tuning]";
    private static final String MACHINE = "machine";
    private static final List<String> KEYS = List.of(MACHINE, "backend", "executor", "device", "driver", "links");

    public TuningFile {
        sections = List.copyOf(sections);
    }

    /**
     * Returns the file that a process's settings name, if they name one.
     *
     * @throws IllegalArgumentException if it cannot be read; the message names the line and the remedy
     */
    public static Optional<TuningFile> of(Config config) {
        return config.find(Config.TUNING).map(TuningFile::read);
    }

    /**
     * Reads a file.
     *
     * @throws IllegalArgumentException if that is not possible; the message names the line and the remedy
     */
    public static TuningFile read(Path file) {
        List<String> lines;
        try {
            lines = LIMIT.text(file).lines().toList();
        } catch (UnreadableFileException e) {
            throw new IllegalArgumentException(
                    "the tuning file " + file + ": " + e.reason()
                            + "; name another by BANYAN_TUNING, or let banyan tune write it",
                    e);
        }
        TuningFile read = EMPTY;
        for (int line = 0; line < lines.size(); ) {
            if (isRemark(lines.get(line))) {
                line++;
            } else {
                int end = line + 1;
                while (end < lines.size() && !lines.get(end).strip().equals(HEADING)) {
                    end++;
                }
                read = read.with(new SectionReader(file, lines, line, end).read());
                line = end;
            }
        }
        return read;
    }

    private static boolean isRemark(String line) {
        return line.isBlank() || line.strip().startsWith("#");
    }

    /** Reads one section. */
    private record SectionReader(Path file, List<String> lines, int first, int end) {
        Tuning read() {
            if (!lines.get(first).strip().equals(HEADING)) {
                throw wrong(first, "a section begins with " + HEADING);
            }
            Map<String, String> keys = new LinkedHashMap<>();
            Map<Collective, SizeRules> rules = new EnumMap<>(Collective.class);
            for (int line = first + 1; line < end; line++) {
                String text = lines.get(line).strip();
                int equals = text.indexOf('=');
                if (isRemark(text)) {
                    continue;
                }
                if (equals < 0) {
                    throw wrong(line, "'" + text + "' is not of the form name = value");
                }
                String name = text.substring(0, equals).strip();
                String value = text.substring(equals + 1).strip();
                if (KEYS.contains(name)) {
                    keys.put(name, value);
                } else {
                    rules.put(collective(line, name), rules(line, value));
                }
            }
            KEYS.stream().filter(key -> !keys.containsKey(key)).findFirst().ifPresent(missing -> {
                throw wrong(first, "the section lacks " + missing);
            });
            Execution execution = Arrays.stream(Execution.values())
                    .filter(known -> known.label().equals(keys.get("executor")))
                    .findFirst()
                    .orElseThrow(() -> wrong(first, "no executor is called '" + keys.get("executor") + "'"));
            Platform platform = new Platform(
                    keys.getOrDefault("backend", ""),
                    execution,
                    keys.getOrDefault("device", ""),
                    keys.getOrDefault("driver", ""));
            return new Tuning(platform, keys.getOrDefault("links", ""), keys.getOrDefault(MACHINE, ""), rules);
        }

        private Collective collective(int line, String name) {
            return Arrays.stream(Collective.values())
                    .filter(known -> known.label().equals(name))
                    .findFirst()
                    .orElseThrow(() -> wrong(line, "'" + name + "' is neither a collective nor one of " + KEYS));
        }

        private SizeRules rules(int line, String value) {
            try {
                return SizeRules.parse(value);
            } catch (IllegalArgumentException e) {
                throw wrong(line, e.getMessage());
            }
        }

        private IllegalArgumentException wrong(int line, @Nullable String what) {
            return new IllegalArgumentException(
                    file + ", line " + (line + 1) + ": " + what + "; delete the file and run banyan tune again");
        }
    }

    /** Returns the section of a machine on a platform, if there is one. */
    public Optional<Tuning> find(Platform platform, Machine machine) {
        Tuning wanted = Tuning.of(platform, machine, Map.of());
        return sections.stream().filter(wanted::isForSameAs).findFirst();
    }

    /**
     * Returns why no section is used for a machine on a platform, as one sentence without its beginning, the file's
     * name. It names the section that differs least, and the first difference.
     */
    String objection(Platform platform, Machine machine) {
        Tuning wanted = Tuning.of(platform, machine, Map.of());
        return sections.stream()
                        .min(Comparator.comparingInt(
                                section -> section.differences(wanted).size()))
                        .map(nearest -> " is not used here: its section of " + nearest.machine() + " is for "
                                + nearest.differences(wanted).getFirst())
                        .orElse(" is not used here: it has no section")
                + "; run banyan tune " + (platform.isSimulated() ? "--predict" : "--backend " + platform.backend())
                + " to add one";
    }

    /** Returns the same file with a section; the rules of one of the same platform and links are kept beside. */
    public TuningFile with(Tuning added) {
        List<Tuning> all = new ArrayList<>(sections);
        for (int i = 0; i < all.size(); i++) {
            if (all.get(i).isForSameAs(added)) {
                all.set(i, all.get(i).with(added));
                return new TuningFile(all);
            }
        }
        all.add(added);
        return new TuningFile(all);
    }

    /** Returns the lines that {@link #read} reads. */
    public List<String> lines() {
        List<String> lines = new ArrayList<>(List.of(
                "# Written by banyan tune. BANYAN_ALGORITHM=auto follows the section of the backend, the executor, the",
                "# devices, the driver and the links (their check sum) that it runs on, and no other."));
        for (Tuning section : sections) {
            lines.add("");
            lines.add(HEADING);
            lines.add(line(MACHINE, section.machine()));
            section.keys().forEach((name, value) -> lines.add(line(name, value)));
            section.rules().forEach((collective, rules) -> lines.add(line(collective.label(), rules.toString())));
        }
        return lines;
    }

    private static String line(String name, String value) {
        return (name + " = " + value.replaceAll("\\p{Cntrl}", " ")).stripTrailing();
    }

    /** Returns the text of the file, which processes of a job must have alike. */
    @Override
    public String toString() {
        return String.join("\n", lines());
    }
}
