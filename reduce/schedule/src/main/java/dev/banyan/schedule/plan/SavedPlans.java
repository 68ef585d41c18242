package dev.banyan.schedule.plan;

import dev.banyan.config.Config;
import dev.banyan.config.Setting;
import dev.banyan.schedule.algorithm.CollectiveRequest;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Tree;
import dev.banyan.trees.packing.PackedTree;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;
import org.apache.commons.numbers.fraction.BigFraction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The automatic choices and packed trees of one machine, in a file of the user's cache folder, so that the first calls
 * of a later process need not search for them. Choices and trees are what the search found and would find again: the
 * name of the file is a check sum of everything that they depend on, and trees are checked and rated anew by who uses
 * them.
 *
 * <p>A thread of its own writes the file, under another name at first, readable by the user alone. Files that are
 * damaged or cannot be read or written count as absent. At most {@value #MOST_ENTRIES} choices and trees each are kept
 * in a file, and {@value #MOST_FILES} files. Of processes that write one file at the same time, the last one wins.
 * Safe for use from any thread.
 */
final class SavedPlans {
    /** Whether plans are kept in the user's cache folder. */
    static final Setting<Boolean> ENABLED = Setting.flag(
            "BANYAN_PLAN_CACHE",
            true,
            "Keeps automatic choices and packed trees in the folder banyan of XDG_CACHE_HOME, or of ~/.cache, so that"
                    + " later processes plan their first calls faster.");

    static final int MOST_ENTRIES = 1024;
    static final int MOST_FILES = 64;

    private static final Logger LOG = LoggerFactory.getLogger(SavedPlans.class);
    private static final String HEADER = "banyan plans 1 ";
    private static final String CHOICE = "choice";
    private static final String TREES = "trees";
    private static final String SUM = "sum ";

    private final Path folder;
    private final String key;
    private final SequencedMap<CollectiveRequest, AlgorithmConfig> choices = new LinkedHashMap<>();
    private final SequencedMap<Packing, List<PackedTree>> packings = new LinkedHashMap<>();
    private boolean changed;
    private boolean writing;

    /**
     * What a packing depends on.
     *
     * <p>Its methods are spelled out, since those that records get by themselves take milliseconds at their first call.
     *
     * @param maxTrees the greatest number of trees that was allowed
     * @param root the root, or -1 where the collective has none
     */
    record Packing(int maxTrees, Collective collective, int root) {
        @Override
        public boolean equals(Object other) {
            return other instanceof Packing packing
                    && maxTrees == packing.maxTrees
                    && collective == packing.collective
                    && root == packing.root;
        }

        @Override
        public int hashCode() {
            return 31 * (31 * maxTrees + collective.hashCode()) + root;
        }
    }

    /**
     * Reads what earlier processes saved.
     *
     * @param folder folder of the files; need not exist
     * @param key names everything on which the plans depend
     */
    SavedPlans(Path folder, String key) {
        this.folder = folder;
        this.key = sum(key) + sum(new CRC32C(), key);
        read();
    }

    /** Returns the user's plans of a machine; empty if the settings or the kind of installation rule them out. */
    static Optional<SavedPlans> of(Machine machine, Config config, String executor, List<Class<?>> code) {
        if (!config.get(ENABLED)) {
            return Optional.empty();
        }
        Optional<String> version = version(code);
        Optional<Path> folder = folder();
        if (version.isEmpty() || folder.isEmpty()) {
            return Optional.empty();
        }
        StringBuilder key = new StringBuilder(version.get()).append(executor).append('\n');
        for (Setting<?> setting : new PlanSettings().settings()) {
            key.append(setting.name()).append(' ').append(config.find(setting)).append('\n');
        }
        append(machine, key);
        return Optional.of(new SavedPlans(folder.get(), key.toString()));
    }

    /** Spelled out, since the methods that records get by themselves take tens of milliseconds at their first call. */
    private static void append(Machine machine, StringBuilder key) {
        key.append(machine.name()).append('\n');
        for (Device device : machine.devices()) {
            key.append(device.name()).append(' ').append(device.attributes()).append('\n');
        }
        for (Hub hub : machine.hubs()) {
            key.append(hub.kind()).append(' ').append(hub.attributes()).append('\n');
        }
        for (Link link : machine.links()) {
            key.append(link.a()).append(' ').append(link.b()).append(' ').append(link.kind());
            key.append(' ').append(link.lanes()).append(' ').append(link.latencyUs());
            key.append(' ')
                    .append(link.gbsAToB())
                    .append(' ')
                    .append(link.gbsBToA())
                    .append('\n');
        }
    }

    private static Optional<Path> folder() {
        String cache = System.getenv("XDG_CACHE_HOME");
        try {
            if (cache != null && Path.of(cache).isAbsolute()) {
                return Optional.of(Path.of(cache, "banyan"));
            }
            Path home = Path.of(System.getProperty("user.home", ""));
            return home.isAbsolute() ? Optional.of(home.resolve(".cache").resolve("banyan")) : Optional.empty();
        } catch (InvalidPathException e) {
            LOG.debug("Plans are not saved: the folder of the user's cache has no name that Java can read", e);
            return Optional.empty();
        }
    }

    /** Returns the archives of classes with their sizes and times; empty if one is no archive and may change unseen. */
    private static Optional<String> version(List<Class<?>> code) {
        StringBuilder text = new StringBuilder();
        try {
            for (Class<?> one : code) {
                Path archive = Path.of(
                        one.getProtectionDomain().getCodeSource().getLocation().toURI());
                if (!Files.isRegularFile(archive)) {
                    return Optional.empty();
                }
                text.append(archive.getFileName())
                        .append(' ')
                        .append(Files.size(archive))
                        .append(' ')
                        .append(Files.getLastModifiedTime(archive))
                        .append('\n');
            }
        } catch (Exception e) {
            LOG.debug("Plans are not saved: the version of the program is not known", e);
            return Optional.empty();
        }
        return Optional.of(text.toString());
    }

    synchronized Optional<AlgorithmConfig> choice(CollectiveRequest request) {
        return Optional.ofNullable(choices.get(request));
    }

    /** Returns the trees of a packing, which may be any trees. */
    synchronized Optional<List<PackedTree>> trees(Packing packing) {
        return Optional.ofNullable(packings.get(packing));
    }

    /** Returns all choices. */
    synchronized List<Map.Entry<CollectiveRequest, AlgorithmConfig>> choices() {
        return List.copyOf(choices.entrySet());
    }

    synchronized void put(CollectiveRequest request, AlgorithmConfig choice) {
        add(choices, request, choice);
        write();
    }

    synchronized void put(Packing packing, List<PackedTree> trees) {
        add(packings, packing, trees);
        write();
    }

    private static <K, V> void add(SequencedMap<K, V> entries, K entry, V value) {
        entries.put(entry, value);
        if (entries.size() > MOST_ENTRIES) {
            entries.pollFirstEntry();
        }
    }

    private Path file() {
        return folder.resolve("plans-" + key + ".txt");
    }

    private void read() {
        try {
            parse(Files.readString(file()));
        } catch (NoSuchFileException e) {
            // Nothing was saved yet.
        } catch (IOException | RuntimeException e) {
            choices.clear();
            packings.clear();
            LOG.debug("{} is not used: {}", file(), e.toString());
        }
    }

    private void parse(String text) {
        int end = text.lastIndexOf(SUM);
        if (end < 0
                || !text.startsWith(HEADER + key + "\n")
                || !text.substring(end).equals(SUM + sum(text.substring(0, end)) + "\n")) {
            throw new IllegalArgumentException("the file is damaged");
        }
        String[] lines = text.substring(0, end).split("\n", -1);
        // The first line is the header, and nothing follows the end of the last line.
        for (int line = 1; line < lines.length - 1; line++) {
            parseEntry(lines[line].split(" ", -1));
        }
    }

    private void parseEntry(String[] words) {
        Collective collective = Collective.valueOf(words[2]);
        int root = Integer.parseInt(words[3]);
        if (words[0].equals(TREES)) {
            PackedTree[] trees = new PackedTree[words.length - 4];
            for (int tree = 0; tree < trees.length; tree++) {
                trees[tree] = tree(words[4 + tree]);
            }
            add(packings, new Packing(Integer.parseInt(words[1]), collective, root), List.of(trees));
        } else {
            CollectiveRequest request = new CollectiveRequest(
                    collective,
                    root,
                    Long.parseLong(words[4]),
                    Integer.parseInt(words[5]),
                    Boolean.parseBoolean(words[6]),
                    Long.parseLong(words[7]));
            AlgorithmConfig choice = AlgorithmConfig.parse(words[1]);
            if (choice.algorithm() == AlgorithmChoice.AUTO) {
                throw new IllegalArgumentException("auto is no choice");
            }
            add(choices, request, choice);
        }
    }

    private static PackedTree tree(String word) {
        String[] parts = word.split(":", -1);
        BigFraction share = BigFraction.of(new BigInteger(parts[0]), new BigInteger(parts[1]));
        Tree up = Tree.ofParents(parents(parts[2]));
        return parts.length > 3
                ? new PackedTree(share, up, Tree.ofParents(parents(parts[3])))
                : PackedTree.of(share, up);
    }

    private static int[] parents(String part) {
        String[] words = part.split(",", -1);
        int[] parents = new int[words.length];
        for (int device = 0; device < parents.length; device++) {
            parents[device] = Integer.parseInt(words[device]);
        }
        return parents;
    }

    private String text() {
        StringBuilder text = new StringBuilder(HEADER).append(key).append('\n');
        choices.forEach((request, choice) -> text.append(String.join(
                        " ",
                        CHOICE,
                        choice.toString(),
                        request.collective().name(),
                        Integer.toString(request.root()),
                        Long.toString(request.count()),
                        Integer.toString(request.elementBytes()),
                        Boolean.toString(request.inPlace()),
                        Long.toString(request.chunkBytes())))
                .append('\n'));
        packings.forEach((packing, trees) -> {
            text.append(String.join(
                    " ",
                    TREES,
                    Integer.toString(packing.maxTrees()),
                    packing.collective().name(),
                    Integer.toString(packing.root())));
            trees.forEach(tree -> text.append(' ').append(text(tree)));
            text.append('\n');
        });
        return text + SUM + sum(text.toString()) + "\n";
    }

    private static String text(PackedTree tree) {
        return tree.share().getNumerator() + ":" + tree.share().getDenominator() + ":" + text(tree.up())
                + (tree.up().equals(tree.down()) ? "" : ":" + text(tree.down()));
    }

    private static String text(Tree tree) {
        return IntStream.range(0, tree.size())
                .mapToObj(device -> Integer.toString(tree.parent(device)))
                .collect(Collectors.joining(","));
    }

    private static String sum(String text) {
        return sum(new CRC32(), text);
    }

    private static String sum(Checksum sum, String text) {
        sum.update(text.getBytes(StandardCharsets.UTF_8));
        return HexFormat.of().toHexDigits((int) sum.getValue());
    }

    private void write() {
        changed = true;
        if (!writing) {
            Thread.ofPlatform().daemon().name("banyan-saved-plans").start(this::writeAll);
            // Only now, since the start may fail; the thread waits for the lock.
            writing = true;
        }
    }

    private void writeAll() {
        while (true) {
            String text;
            synchronized (this) {
                if (!changed) {
                    writing = false;
                    notifyAll();
                    return;
                }
                changed = false;
                text = text();
            }
            replace(text);
        }
    }

    private void replace(String text) {
        try {
            Files.createDirectories(folder);
            // By default, only its owner can read or write it.
            Path next = Files.createTempFile(folder, "plans-", ".tmp");
            try {
                Files.writeString(next, text);
                Files.move(next, file(), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            } finally {
                Files.deleteIfExists(next);
            }
            deleteOld();
        } catch (IOException | RuntimeException e) {
            LOG.debug("{} is not written: {}", file(), e.toString());
        }
    }

    private void deleteOld() throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.list(folder)) {
            files = all.filter(path -> path.getFileName().toString().startsWith("plans-"))
                    .toList();
        }
        if (files.size() > MOST_FILES) {
            List<Path> oldest = files.stream()
                    .sorted(Comparator.comparingLong(path -> path.toFile().lastModified()))
                    .limit(files.size() - MOST_FILES)
                    .toList();
            for (Path path : oldest) {
                Files.deleteIfExists(path);
            }
        }
    }

    /** Waits until everything is written. */
    synchronized void flush() throws InterruptedException {
        while (writing) {
            wait();
        }
    }
}
