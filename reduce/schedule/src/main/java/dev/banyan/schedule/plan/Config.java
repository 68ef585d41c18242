package dev.banyan.schedule.plan;

import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.balanced.KernighanLin;
import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The settings of a communicator. Each is taken from the first of these that has it:
 *
 * <ol>
 *   <li>the program, through a {@link Builder};
 *   <li>JVM system properties, {@code -DNAME=value};
 *   <li>environment variables, {@code NAME=value};
 *   <li>the properties file (UTF-8) that BANYAN_CONFIG names as system property or environment variable;
 *       without that, {@code banyan.properties} in the working directory if there is one;
 *   <li>{@code banyan-tuned.properties} in the working directory, which {@code banyan tune} writes;
 *   <li>the default.
 * </ol>
 *
 * <p>Names are the same in all of them. A blank value counts as none. Flags are 0 or 1. Byte sizes may end
 * in K, M or G (powers of 1024).
 *
 * <table>
 * <caption>Settings</caption>
 * <tr><th>name</th><th>meaning</th><th>unit</th><th>default</th><th>allowed</th></tr>
 * <tr><td>MXNET_KVSTORE_USETREE</td><td>whether BANYAN_ALGORITHM=auto uses trees; 0 makes it use the star,
 *     MXNet's way without trees</td><td>flag</td><td>1</td><td>0, 1</td></tr>
 * <tr><td>MXNET_KVSTORE_LOGTREE</td><td>whether new trees are drawn in the log</td>
 *     <td>flag</td><td>0</td><td>0, 1</td></tr>
 * <tr><td>MXNET_KVSTORE_TREE_ARRAY_BOUND</td><td>where it is set, BANYAN_ALGORITHM=auto takes many trees for
 *     arrays of more elements than this, and one tree for others; where it is not, auto is free, but for 10000000
 *     if it has no model of the machine</td><td>elements</td><td>none</td><td>0 or more</td></tr>
 * <tr><td>MXNET_KVSTORE_TREE_BACKTRACK</td><td>whether trees must be of the greatest weight possible instead
 *     of Kernighan and Lin's</td><td>flag</td><td>0</td><td>0, 1</td></tr>
 * <tr><td>MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY</td><td>what a link's weight is multiplied by when a tree
 *     uses it, so that later trees avoid it</td><td>factor</td><td>0.7</td><td>above 0, at most 1</td></tr>
 * <tr><td>MXNET_KVSTORE_BIGARRAY_BOUND</td><td>known and checked, so that MXNet's settings can stay as they
 *     are; nothing uses it</td><td>elements</td><td>1000000</td><td>0 or more</td></tr>
 * <tr><td>MXNET_ENABLE_GPU_P2P</td><td>whether GPUs may read each other's memory directly; the host backend has
 *     none</td><td>flag</td><td>1</td><td>0, 1</td></tr>
 * <tr><td>BANYAN_ALGORITHM</td><td>the algorithm of every collective, or several by size: {@code
 *     star:4K,single-tree@64K:1M,packing/8} is the star up to 4 KiB (of the larger of a rank's buffers), a single
 *     tree in chunks of 64 KiB up to 1 MiB, and at most 8 packed trees above. {@link Planner} says what auto
 *     does</td><td></td><td>auto</td>
 *     <td>auto, single-tree, multi-tree, packing, ring, star; {@code /TREES}, {@code @CHUNK}, {@code :SIZE} behind
 *         them, commas
 *     between ascending sizes</td></tr>
 * <tr><td>BANYAN_CHUNK_BYTES</td><td>greatest length of a chunk, the unit of pipelining, where BANYAN_ALGORITHM
 *     names none by {@code @CHUNK}</td><td>bytes</td>
 *     <td>auto (the backend or the model decides)</td><td>auto, or 64 or more</td></tr>
 * <tr><td>BANYAN_THREADS</td><td>worker threads of the host backend</td><td>threads</td>
 *     <td>the JVM's available processors</td><td>1 to 4096</td></tr>
 * <tr><td>BANYAN_BUFFER_LIMIT</td><td>greatest size of the receive buffers on each GPU, which all plans of a
 *     communicator share</td><td>bytes</td><td>256M</td><td>2M or more</td></tr>
 * <tr><td>BANYAN_TIMEOUT_MS</td><td>how long a collective may take before it fails on every rank</td>
 *     <td>milliseconds</td><td>600000 (ten minutes)</td><td>1 or more</td></tr>
 * <tr><td>BANYAN_SEED</td><td>seed of the tie-breaking choices; the same seed gives the same trees</td>
 *     <td></td><td>1970</td><td>any 64-bit integer</td></tr>
 * <tr><td>BANYAN_TUNED_MACHINE, BANYAN_TUNED_DEVICES, BANYAN_TUNED_WIRES</td><td>name, number of devices and
 *     check sum of the links of the machine that the BANYAN_TUNED_ lists were made for by {@code banyan tune}; on any
 *     other they are not used, with a warning. All BANYAN_TUNED_ settings come from one source, the first that has
 *     any</td><td></td><td>none</td><td></td></tr>
 * <tr><td>BANYAN_TUNED_ALL_REDUCE, _REDUCE, _BROADCAST, _REDUCE_SCATTER, _ALL_GATHER</td><td>what
 *     BANYAN_ALGORITHM=auto takes for this collective on that machine, unless MXNET_KVSTORE_USETREE is 0 or
 *     MXNET_KVSTORE_TREE_ARRAY_BOUND is set</td><td></td><td>none</td><td>as BANYAN_ALGORITHM</td></tr>
 * <tr><td>BANYAN_REPRODUCIBLE</td><td>whether every element of a reduction is summed in the order of ranks, whatever
 *     the size, the algorithm, the chunks and the fusion</td><td>flag</td><td>0</td><td>0, 1</td></tr>
 * <tr><td>BANYAN_FUSION_BYTES</td><td>a store's keys up to this size share collectives up to this size</td>
 *     <td>bytes</td><td>256K</td><td>off, or 64 or more</td></tr>
 * <tr><td>BANYAN_OUTSTANDING</td><td>greatest number of collectives that a store of type {@code concum} has in flight
 *     between machines</td><td></td><td>4</td><td>1 to 64</td></tr>
 * <tr><td>BANYAN_CHECK_ORDER</td><td>whether processes compare what they are about to do, key, length and type, before
 *     each collective between machines, and fail where it differs instead of hanging</td><td>flag</td><td>0</td>
 *     <td>0, 1</td></tr>
 * <tr><td>BANYAN_CONFIG</td><td>path of the properties file; not read from the file itself</td><td></td>
 *     <td>banyan.properties if it is there</td><td>a readable file</td></tr>
 * </table>
 *
 * <p>A name that begins with BANYAN_ or MXNET_KVSTORE_TREE_, or any name in the file, that is not one of these
 * becomes one of the {@link #warnings}. BANYAN_JAVA_OPTS belongs to the launcher, BANYAN_NVML_LIBRARY to
 * the probe of NVIDIA's driver, BANYAN_MPI_LIBRARY to what finds MPI; they are left alone.
 *
 * <p>Immutable and safe for use from any thread.
 *
 * @param useTree MXNET_KVSTORE_USETREE
 * @param logTree MXNET_KVSTORE_LOGTREE
 * @param treeArrayBound MXNET_KVSTORE_TREE_ARRAY_BOUND, in elements; empty where it is not set
 * @param treeBacktrack MXNET_KVSTORE_TREE_BACKTRACK
 * @param linkUsagePenalty MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY
 * @param bigArrayBound MXNET_KVSTORE_BIGARRAY_BOUND, in elements
 * @param gpuPeerAccess MXNET_ENABLE_GPU_P2P
 * @param algorithm BANYAN_ALGORITHM
 * @param chunkBytes BANYAN_CHUNK_BYTES; {@link Long#MAX_VALUE} leaves the cutting to the backend
 * @param threads BANYAN_THREADS
 * @param bufferLimit BANYAN_BUFFER_LIMIT, in bytes
 * @param timeout BANYAN_TIMEOUT_MS
 * @param seed BANYAN_SEED
 * @param reproducible BANYAN_REPRODUCIBLE
 * @param fusionBytes BANYAN_FUSION_BYTES; 0 if it is off
 * @param outstanding BANYAN_OUTSTANDING
 * @param checkOrder BANYAN_CHECK_ORDER
 * @param tuning BANYAN_TUNED_MACHINE and all that go with it
 * @param warnings what was odd in the sources, one sentence each, for the caller to log
 */
public record Config(
        boolean useTree,
        boolean logTree,
        OptionalLong treeArrayBound,
        boolean treeBacktrack,
        double linkUsagePenalty,
        long bigArrayBound,
        boolean gpuPeerAccess,
        SizeRules algorithm,
        long chunkBytes,
        int threads,
        long bufferLimit,
        Duration timeout,
        long seed,
        boolean reproducible,
        long fusionBytes,
        int outstanding,
        boolean checkOrder,
        Optional<Tuning> tuning,
        List<String> warnings) {
    /** The array bound, in elements, where nothing else is known. */
    public static final long DEFAULT_TREE_ARRAY_BOUND = 10_000_000;

    private static final String PROGRAM = "set by the program";
    private static final String DEFAULT_FILE = "banyan.properties";
    private static final String TUNED_FILE = "banyan-tuned.properties";
    private static final String TUNED = "BANYAN_TUNED_";
    static final String TUNED_MACHINE = TUNED + "MACHINE";
    static final String TUNED_DEVICES = TUNED + "DEVICES";
    static final String TUNED_WIRES = TUNED + "WIRES";

    private static final Setting<Boolean> USE_TREE = Setting.flag("MXNET_KVSTORE_USETREE");
    private static final Setting<Boolean> LOG_TREE = Setting.flag("MXNET_KVSTORE_LOGTREE");
    private static final Setting<Long> TREE_ARRAY_BOUND =
            Setting.atLeast(0, "elements", "MXNET_KVSTORE_TREE_ARRAY_BOUND");
    private static final Setting<Boolean> TREE_BACKTRACK = Setting.flag("MXNET_KVSTORE_TREE_BACKTRACK");
    private static final Setting<Double> LINK_USAGE_PENALTY = new Setting<>(
            "MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY",
            "a number above 0, at most 1",
            Double::valueOf,
            value -> value > 0 && value <= 1);
    private static final Setting<Long> BIG_ARRAY_BOUND = Setting.atLeast(0, "elements", "MXNET_KVSTORE_BIGARRAY_BOUND");
    private static final Setting<Boolean> GPU_PEER_ACCESS = Setting.flag("MXNET_ENABLE_GPU_P2P");
    private static final Setting<SizeRules> ALGORITHM = rules("BANYAN_ALGORITHM");
    private static final Setting<Long> CHUNK_BYTES = new Setting<>(
            "BANYAN_CHUNK_BYTES",
            "auto, or a whole number of bytes, at least 64, e.g. 512K",
            text -> text.equals("auto") ? Long.MAX_VALUE : Bytes.parse(text),
            value -> value >= AlgorithmConfig.LEAST_CHUNK);
    private static final Setting<Integer> THREADS = new Setting<>(
            "BANYAN_THREADS",
            "a whole number of threads, 1 to 4096",
            Integer::valueOf,
            value -> value >= 1 && value <= 4096);
    private static final Setting<Long> BUFFER_LIMIT = new Setting<>(
            "BANYAN_BUFFER_LIMIT",
            "a whole number of bytes, at least 2M, e.g. 256M",
            Bytes::parse,
            value -> value >= 2 << 20);
    private static final Setting<Long> TIMEOUT_MS = Setting.atLeast(1, "milliseconds", "BANYAN_TIMEOUT_MS");
    private static final Setting<Long> SEED =
            new Setting<>("BANYAN_SEED", "a 64-bit integer", Long::valueOf, value -> true);
    private static final Setting<String> MACHINE =
            new Setting<>(TUNED_MACHINE, "the name of a machine", text -> text, value -> true);
    private static final Setting<Long> DEVICES = Setting.atLeast(1, "devices", TUNED_DEVICES);
    private static final Setting<String> WIRES =
            new Setting<>(TUNED_WIRES, "what banyan tune writes", text -> text, value -> true);
    private static final Map<Collective, Setting<SizeRules>> TUNED_RULES = Arrays.stream(Collective.values())
            .collect(Collectors.toMap(
                    collective -> collective,
                    collective -> rules(tuned(collective)),
                    (one, other) -> one,
                    () -> new EnumMap<>(Collective.class)));
    private static final Setting<Boolean> REPRODUCIBLE = Setting.flag("BANYAN_REPRODUCIBLE");
    private static final Setting<Long> FUSION_BYTES = new Setting<>(
            "BANYAN_FUSION_BYTES",
            "off, or a whole number of bytes, at least 64, e.g. 256K",
            text -> text.equals("off") ? 0L : Bytes.parse(text),
            value -> value == 0 || value >= 64);
    private static final Setting<Integer> OUTSTANDING = new Setting<>(
            "BANYAN_OUTSTANDING",
            "a whole number of collectives, 1 to 64",
            Integer::valueOf,
            value -> value >= 1 && value <= 64);
    private static final Setting<Boolean> CHECK_ORDER = Setting.flag("BANYAN_CHECK_ORDER");
    private static final Setting<Path> FILE =
            new Setting<>("BANYAN_CONFIG", "the path of a readable file", Path::of, value -> true);

    private static final List<String> KNOWN = Stream.concat(
                    Stream.of(
                            USE_TREE,
                            LOG_TREE,
                            TREE_ARRAY_BOUND,
                            TREE_BACKTRACK,
                            LINK_USAGE_PENALTY,
                            BIG_ARRAY_BOUND,
                            GPU_PEER_ACCESS,
                            ALGORITHM,
                            CHUNK_BYTES,
                            THREADS,
                            BUFFER_LIMIT,
                            TIMEOUT_MS,
                            SEED,
                            REPRODUCIBLE,
                            FUSION_BYTES,
                            OUTSTANDING,
                            CHECK_ORDER,
                            FILE,
                            MACHINE,
                            DEVICES,
                            WIRES),
                    TUNED_RULES.values().stream())
            .map(Setting::name)
            .toList();
    /** Names of other parts of Banyan. */
    private static final List<String> ELSEWHERE =
            List.of("BANYAN_JAVA_OPTS", "BANYAN_NVML_LIBRARY", "BANYAN_MPI_LIBRARY");

    /**
     * @throws ConfigException if a value is not allowed
     */
    public Config {
        Objects.requireNonNull(algorithm, "algorithm");
        warnings = List.copyOf(warnings);
        Objects.requireNonNull(tuning, "tuning");
        treeArrayBound.ifPresent(elements -> check(TREE_ARRAY_BOUND, elements));
        check(LINK_USAGE_PENALTY, linkUsagePenalty);
        check(BIG_ARRAY_BOUND, bigArrayBound);
        check(CHUNK_BYTES, chunkBytes);
        check(THREADS, threads);
        check(BUFFER_LIMIT, bufferLimit);
        check(FUSION_BYTES, fusionBytes);
        check(OUTSTANDING, outstanding);
        check(TIMEOUT_MS, TimeUnit.MILLISECONDS.convert(timeout));
    }

    /** The same without what was tuned. */
    public Config untuned() {
        return new Config(
                useTree,
                logTree,
                treeArrayBound,
                treeBacktrack,
                linkUsagePenalty,
                bigArrayBound,
                gpuPeerAccess,
                algorithm,
                chunkBytes,
                threads,
                bufferLimit,
                timeout,
                seed,
                reproducible,
                fusionBytes,
                outstanding,
                checkOrder,
                Optional.empty(),
                warnings);
    }

    private static <T> void check(Setting<T> setting, T value) {
        setting.check(value, String.valueOf(value), PROGRAM);
    }

    /** The settings of this process: system properties, environment, file, defaults. */
    public static Config load() {
        return builder().load();
    }

    /** The defaults alone, whatever the process's surroundings. */
    public static Config defaults() {
        return builder().build();
    }

    /** Settings by the program. */
    public static Builder builder() {
        return new Builder();
    }

    private static Setting<SizeRules> rules(String name) {
        return new Setting<>(
                name,
                Stream.of(AlgorithmChoice.values())
                        .map(AlgorithmChoice::label)
                        .collect(Collectors.joining(
                                ", ", "one of ", ", or a list by size such as star:4K,single-tree@64K:1M,packing/8")),
                SizeRules::parse,
                value -> true);
    }

    /** Name of the setting that says what a collective takes on the machine that was tuned. */
    static String tuned(Collective collective) {
        return TUNED + collective.name();
    }

    /** Collects what the program sets; everything else comes from the lower sources. Not thread-safe. */
    public static final class Builder {
        private final Map<String, String> values = new TreeMap<>();

        private Builder() {}

        /** Sets MXNET_KVSTORE_USETREE. */
        public Builder useTree(boolean value) {
            return flag(USE_TREE, value);
        }

        /** Sets MXNET_KVSTORE_LOGTREE. */
        public Builder logTree(boolean value) {
            return flag(LOG_TREE, value);
        }

        /** Sets MXNET_KVSTORE_TREE_ARRAY_BOUND, in elements. */
        public Builder treeArrayBound(long elements) {
            return set(TREE_ARRAY_BOUND, elements);
        }

        /** Sets MXNET_KVSTORE_TREE_BACKTRACK. */
        public Builder treeBacktrack(boolean value) {
            return flag(TREE_BACKTRACK, value);
        }

        /** Sets MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY. */
        public Builder linkUsagePenalty(double factor) {
            return set(LINK_USAGE_PENALTY, factor);
        }

        /** Sets MXNET_KVSTORE_BIGARRAY_BOUND, in elements. */
        public Builder bigArrayBound(long elements) {
            return set(BIG_ARRAY_BOUND, elements);
        }

        /** Sets MXNET_ENABLE_GPU_P2P. */
        public Builder gpuPeerAccess(boolean value) {
            return flag(GPU_PEER_ACCESS, value);
        }

        /** Sets BANYAN_ALGORITHM. */
        public Builder algorithm(AlgorithmChoice choice) {
            return set(ALGORITHM, choice.label());
        }

        /** Sets BANYAN_ALGORITHM by size. */
        public Builder algorithm(SizeRules rules) {
            return set(ALGORITHM, rules);
        }

        /** Sets BANYAN_TUNED_MACHINE and all that go with it. */
        public Builder tuning(Tuning tuning) {
            values.putAll(tuning.settings());
            return this;
        }

        /** Sets BANYAN_CHUNK_BYTES; {@link Long#MAX_VALUE} leaves the cutting to the backend. */
        public Builder chunkBytes(long bytes) {
            return set(CHUNK_BYTES, bytes);
        }

        /** Sets BANYAN_THREADS. */
        public Builder threads(int threads) {
            return set(THREADS, threads);
        }

        /** Sets BANYAN_BUFFER_LIMIT, in bytes. */
        public Builder bufferLimit(long bytes) {
            return set(BUFFER_LIMIT, bytes);
        }

        /** Sets BANYAN_TIMEOUT_MS, in whole milliseconds. */
        public Builder timeout(Duration timeout) {
            return set(TIMEOUT_MS, TimeUnit.MILLISECONDS.convert(timeout));
        }

        /** Sets BANYAN_SEED. */
        public Builder seed(long seed) {
            return set(SEED, seed);
        }

        /** Sets BANYAN_REPRODUCIBLE. */
        public Builder reproducible(boolean value) {
            return flag(REPRODUCIBLE, value);
        }

        /** Sets BANYAN_FUSION_BYTES; 0 turns fusion off. */
        public Builder fusionBytes(long bytes) {
            return set(FUSION_BYTES, bytes);
        }

        /** Sets BANYAN_OUTSTANDING. */
        public Builder outstanding(int collectives) {
            return set(OUTSTANDING, collectives);
        }

        /** Sets BANYAN_CHECK_ORDER. */
        public Builder checkOrder(boolean value) {
            return flag(CHECK_ORDER, value);
        }

        /** Sets BANYAN_CONFIG. */
        public Builder file(Path file) {
            return set(FILE, file);
        }

        private Builder flag(Setting<Boolean> setting, boolean value) {
            return set(setting, value ? 1 : 0);
        }

        private Builder set(Setting<?> setting, Object value) {
            values.put(setting.name(), value.toString());
            return this;
        }

        /**
         * The program's settings over the defaults alone; nothing outside is read.
         *
         * @throws ConfigException if a value is not allowed
         */
        public Config build() {
            return new Resolver(List.of(new Layer(PROGRAM, values)), new ArrayList<>()).config();
        }

        /**
         * The program's settings over those of this process.
         *
         * @throws ConfigException if a value is not allowed or the named file cannot be read
         */
        public Config load() {
            Properties properties = System.getProperties();
            return load(
                    properties.stringPropertyNames().stream()
                            .collect(Collectors.toMap(name -> name, name -> properties.getProperty(name, ""))),
                    System.getenv(),
                    Path.of(""));
        }

        /**
         * The program's settings over given ones.
         *
         * @param properties what stands for the JVM's system properties
         * @param environment what stands for the environment variables
         * @param directory what stands for the working directory
         * @throws ConfigException if a value is not allowed or the named file cannot be read
         */
        public Config load(Map<String, String> properties, Map<String, String> environment, Path directory) {
            List<Layer> layers = new ArrayList<>();
            layers.add(new Layer(PROGRAM, values));
            layers.add(new Layer("system property", properties));
            layers.add(new Layer("environment variable", environment));
            List<String> warnings = new ArrayList<>();
            layers.forEach(layer -> layer.warnOfUnknown(false, warnings));
            Path named = new Resolver(layers, warnings).value(FILE, Path.of(""));
            Path file = directory.resolve(named.toString().isEmpty() ? Path.of(DEFAULT_FILE) : named);
            if (!named.toString().isEmpty() || Files.exists(file)) {
                Layer fromFile = new Layer("file " + file, read(file));
                fromFile.warnOfUnknown(true, warnings);
                layers.add(fromFile);
            }
            Path tuned = directory.resolve(TUNED_FILE);
            if (Files.exists(tuned) && !tuned.equals(file)) {
                Layer fromTuning = new Layer("file " + tuned, read(tuned));
                fromTuning.warnOfUnknown(true, warnings);
                layers.add(fromTuning);
            }
            return new Resolver(layers, warnings).config();
        }

        private static Map<String, String> read(Path file) {
            Properties properties = new Properties();
            try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
                properties.load(reader);
            } catch (IOException | IllegalArgumentException e) {
                throw new ConfigException(
                        "cannot read the properties file " + file + " (" + e
                                + "); name another by BANYAN_CONFIG, or mend it",
                        e);
            }
            Map<String, String> values = new HashMap<>();
            properties.stringPropertyNames().forEach(name -> values.put(name, properties.getProperty(name, "")));
            return values;
        }
    }

    /** One source of settings. */
    private record Layer(String origin, Map<String, String> values) {
        void warnOfUnknown(boolean onlyForBanyan, List<String> warnings) {
            for (String name : new TreeSet<>(values.keySet())) {
                boolean ours = onlyForBanyan || name.startsWith("BANYAN_") || name.startsWith("MXNET_KVSTORE_TREE_");
                if (ours && !KNOWN.contains(name) && !ELSEWHERE.contains(name)) {
                    warnings.add(name + " (" + origin + ") is not a setting and has no effect; the settings are "
                            + String.join(", ", KNOWN));
                }
            }
        }
    }

    /** Finds each setting's value in the highest source that has one. */
    private record Resolver(List<Layer> layers, List<String> warnings) {
        <T> T value(Setting<T> setting, T otherwise) {
            for (Layer layer : layers) {
                String text = layer.values().get(setting.name());
                if (text != null && !text.isBlank()) {
                    return setting.parse(text, layer.origin());
                }
            }
            return otherwise;
        }

        /** All of the first source that has any of it. */
        Optional<Tuning> tuning() {
            return layers.stream()
                    .filter(layer -> layer.values().keySet().stream().anyMatch(name -> name.startsWith(TUNED)))
                    .findFirst()
                    .map(layer -> new Resolver(List.of(layer), warnings).only(layer.origin()));
        }

        private Tuning only(String origin) {
            Map<Collective, SizeRules> rules = new EnumMap<>(Collective.class);
            TUNED_RULES.forEach((collective, setting) -> {
                SizeRules found = value(setting, SizeRules.AUTO);
                if (!found.equals(SizeRules.AUTO)) {
                    rules.put(collective, found);
                }
            });
            return new Tuning(
                    need(MACHINE, "", origin),
                    Math.toIntExact(need(DEVICES, 0L, origin)),
                    need(WIRES, "", origin),
                    rules);
        }

        private <T> T need(Setting<T> setting, T none, String origin) {
            T value = value(setting, none);
            if (value.equals(none)) {
                throw new ConfigException(setting.name() + " is missing (" + origin + ") beside other " + TUNED
                        + " settings; let banyan tune write them all");
            }
            return value;
        }

        Config config() {
            return new Config(
                    value(USE_TREE, true),
                    value(LOG_TREE, false),
                    bound(),
                    value(TREE_BACKTRACK, false),
                    value(LINK_USAGE_PENALTY, KernighanLin.DEFAULT_PENALTY),
                    value(BIG_ARRAY_BOUND, 1_000_000L),
                    value(GPU_PEER_ACCESS, true),
                    value(ALGORITHM, SizeRules.AUTO),
                    value(CHUNK_BYTES, Long.MAX_VALUE),
                    value(THREADS, Runtime.getRuntime().availableProcessors()),
                    value(BUFFER_LIMIT, 256L << 20),
                    Duration.ofMillis(value(TIMEOUT_MS, 600_000L)),
                    value(SEED, KernighanLin.DEFAULT_SEED),
                    value(REPRODUCIBLE, false),
                    value(FUSION_BYTES, 256L << 10),
                    value(OUTSTANDING, 4),
                    value(CHECK_ORDER, false),
                    tuning(),
                    warnings);
        }

        private OptionalLong bound() {
            long elements = value(TREE_ARRAY_BOUND, -1L);
            return elements < 0 ? OptionalLong.empty() : OptionalLong.of(elements);
        }
    }
}
