package dev.banyan.config;

import dev.banyan.config.internal.BoundedInput;
import dev.banyan.config.internal.UnreadableFileException;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.ServiceLoader;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The values of settings. {@link #load()} takes each from the first of these sources that has it:
 *
 * <ol>
 *   <li>the program, through a {@link Builder};
 *   <li>JVM system properties, {@code -DNAME=value};
 *   <li>environment variables, {@code NAME=value};
 *   <li>the properties file (UTF-8) that BANYAN_CONFIG names as system property or environment variable;
 *       without that, {@code banyan.properties} in the working directory if there is one;
 *   <li>the default.
 * </ol>
 *
 * <p>{@code banyan-tuned.ini} in the working directory is the file of {@link #TUNING} if no source names one.
 *
 * <p>Names are the same in all sources. A blank value counts as none. {@code banyan settings} lists all settings; a
 * program names one by its constant, e.g. {@code Communicator.TIMEOUT}.
 *
 * <p>A value that is not allowed is a {@link ConfigException}, whose message has the name, the value, its source and
 * what is allowed. An unknown name is one of the {@link #warnings} if it begins with BANYAN_ or MXNET_KVSTORE_TREE_ or
 * is in a file. A communicator logs the warnings.
 *
 * <p>Immutable and safe for use from any thread.
 */
public final class Config {
    /** The properties file. */
    public static final Setting<Path> FILE = Setting.of(
                    "BANYAN_CONFIG",
                    "the path of a readable file",
                    Path::of,
                    Path.of(""),
                    "Names the properties file with settings.")
            .withDefaultText("banyan.properties if it is there")
            .outsideFiles();

    /** The file of {@code banyan tune}. */
    public static final Setting<Path> TUNING = Setting.of(
                    "BANYAN_TUNING",
                    "the path of a file that banyan tune wrote",
                    Path::of,
                    Path.of(""),
                    "Names the file of banyan tune, whose section of this machine and backend BANYAN_ALGORITHM=auto"
                            + " follows, unless MXNET_KVSTORE_USETREE is 0 or MXNET_KVSTORE_TREE_ARRAY_BOUND is set.")
            .withDefaultText("banyan-tuned.ini if it is there")
            .outsideFiles();

    private static final BoundedInput PROPERTIES = new BoundedInput(1 << 20, 100_000);
    private static final String DEFAULT_FILE = "banyan.properties";
    private static final String TUNING_FILE = "banyan-tuned.ini";
    private static final String OLD_TUNING_FILE = "banyan-tuned.properties";

    private static final List<SettingProvider> PROVIDERS =
            ServiceLoader.load(SettingProvider.class, Config.class.getClassLoader()).stream()
                    .map(ServiceLoader.Provider::get)
                    .toList();
    /** By name. */
    private static final Map<String, Setting<?>> DECLARED = Stream.concat(
                    Stream.of(FILE, TUNING), PROVIDERS.stream().flatMap(provider -> provider.settings().stream()))
            .collect(Collectors.toMap(Setting::name, setting -> setting, (one, other) -> one, TreeMap::new));

    private final List<Layer> layers;
    private final List<String> warnings;

    /**
     * A setting with its value.
     *
     * @param setting the declaration
     * @param value its value as text, or its default's description
     * @param source where the value is from, e.g. {@code environment variable} or {@code default}
     */
    public record Entry(Setting<?> setting, String value, String source) {}

    private Config(List<Layer> layers, List<String> warnings) {
        this.layers = List.copyOf(layers);
        this.warnings = List.copyOf(warnings);
    }

    /**
     * Returns the settings of this process: system properties, environment variables, files, defaults.
     *
     * @throws ConfigException if a value is not allowed or the named file cannot be read
     */
    public static Config load() {
        return builder().load();
    }

    /** Returns the defaults alone; nothing outside the program is read. */
    public static Config defaults() {
        return builder().build();
    }

    /** Returns a builder by which the program sets values. */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Returns a setting's value, or its default.
     *
     * @param setting the setting
     */
    public <T> T get(Setting<T> setting) {
        return find(setting).orElse(setting.defaultValue());
    }

    /**
     * Returns a setting's value if some source has one.
     *
     * @param setting the setting
     */
    public <T> Optional<T> find(Setting<T> setting) {
        return layer(setting).map(layer -> layer.parse(setting));
    }

    private Optional<Layer> layer(Setting<?> setting) {
        return layers.stream().filter(layer -> layer.text(setting) != null).findFirst();
    }

    /**
     * Returns the same with the defaults of some settings.
     *
     * @param settings the settings whose values are left out
     */
    public Config without(List<? extends Setting<?>> settings) {
        List<String> names = settings.stream().map(Setting::name).toList();
        return new Config(
                layers.stream()
                        .map(layer -> layer.only(name -> !names.contains(name)))
                        .toList(),
                warnings);
    }

    /** Returns what was suspicious in the sources, one sentence each, for the caller to log. */
    public List<String> warnings() {
        return warnings;
    }

    /** Returns all settings of the modules on the class path, sorted by name. */
    public List<Entry> entries() {
        return DECLARED.values().stream().map(this::entry).toList();
    }

    private Entry entry(Setting<?> setting) {
        return layer(setting)
                .map(layer -> new Entry(setting, String.valueOf(layer.text(setting)), layer.source()))
                .orElse(new Entry(setting, setting.defaultText(), "default"));
    }

    /** Collects what the program sets; everything else comes from the lower sources. Not thread-safe. */
    public static final class Builder {
        private final Map<String, String> values = new TreeMap<>();

        private Builder() {}

        /**
         * Sets a setting.
         *
         * @param setting the setting
         * @param value its value; {@link #build} and {@link #load()} check it
         * @return this
         */
        public <T> Builder set(Setting<T> setting, T value) {
            return set(setting.name(), setting.printer().apply(value));
        }

        /**
         * Sets a setting by its name.
         *
         * @param name its name; an unknown one becomes a warning
         * @param value its value as text, as in a properties file
         * @return this
         */
        public Builder set(String name, String value) {
            values.put(name, value);
            return this;
        }

        /**
         * Sets several settings by their names.
         *
         * @param values values as text by name
         * @return this
         */
        public Builder setAll(Map<String, String> values) {
            values.forEach(this::set);
            return this;
        }

        /**
         * Returns the program's settings, and the defaults of the others; nothing outside the program is read.
         *
         * @throws ConfigException if a value is not allowed
         */
        public Config build() {
            return checked(List.of(program()), Stream.empty());
        }

        /**
         * Returns the program's settings, and those of this process for the others.
         *
         * @throws ConfigException if a value is not allowed or the named file cannot be read
         */
        public Config load() {
            return load(values(System.getProperties()), System.getenv(), Path.of(""));
        }

        /**
         * Returns the program's settings, and those of given sources for the others.
         *
         * @param properties what stands for the JVM's system properties
         * @param environment what stands for the environment variables
         * @param directory what stands for the working directory
         * @throws ConfigException if a value is not allowed or the named file cannot be read
         */
        public Config load(Map<String, String> properties, Map<String, String> environment, Path directory) {
            List<Layer> layers = new ArrayList<>(List.of(
                    program(),
                    new Layer("system property", Kind.PROCESS, properties).only(Builder::concernsUs),
                    new Layer("environment variable", Kind.PROCESS, environment).only(Builder::concernsUs)));
            Optional<Path> named = new Config(layers, List.of()).find(FILE);
            Path file = directory.resolve(named.orElse(Path.of(DEFAULT_FILE)));
            if (named.isPresent() || Files.exists(file)) {
                layers.add(read(file));
            }
            Path tuning = directory.resolve(TUNING_FILE);
            if (Files.exists(tuning)) {
                layers.add(
                        new Layer("in the working directory", Kind.PROCESS, Map.of(TUNING.name(), tuning.toString())));
            }
            Path old = directory.resolve(OLD_TUNING_FILE);
            return checked(
                    layers,
                    Files.exists(old) && !old.equals(file)
                            ? Stream.of(old + " is of an older banyan tune and has no effect; run banyan tune again,"
                                    + " which writes " + TUNING_FILE + ", and delete it")
                            : Stream.empty());
        }

        private Layer program() {
            return new Layer("set by the program", Kind.PROGRAM, values);
        }

        /** Nothing else of a process's environment is kept. */
        private static boolean concernsUs(String name) {
            return DECLARED.containsKey(name) || UnknownNames.isOurs(name);
        }

        private static Layer read(Path file) {
            Properties properties = new Properties();
            try {
                properties.load(new StringReader(PROPERTIES.text(file)));
            } catch (UnreadableFileException e) {
                throw new ConfigException(
                        "the properties file " + file + ": " + e.reason()
                                + "; name another by BANYAN_CONFIG, or mend it",
                        e);
            } catch (IOException | IllegalArgumentException e) {
                throw new ConfigException(
                        "cannot read the properties file " + file + " (" + e
                                + "); name another by BANYAN_CONFIG, or mend it",
                        e);
            }
            return new Layer("file " + file, Kind.FILE, values(properties));
        }

        private static Map<String, String> values(Properties properties) {
            return properties.stringPropertyNames().stream()
                    .collect(Collectors.toMap(name -> name, name -> properties.getProperty(name, "")));
        }

        private static Config checked(List<Layer> layers, Stream<String> warnings) {
            Config config = new Config(
                    layers,
                    Stream.concat(layers.stream().flatMap(Layer::warnings), warnings)
                            .toList());
            DECLARED.values().forEach(config::find);
            return config;
        }
    }

    private enum Kind {
        PROGRAM,
        /** Names of other programs are there, too. */
        PROCESS,
        FILE
    }

    /** One source of settings, by name. */
    private record Layer(String source, Kind kind, Map<String, String> values) {
        Layer {
            values = Collections.unmodifiableMap(new TreeMap<>(values));
        }

        @Nullable
        String text(Setting<?> setting) {
            String text = values.get(setting.name());
            return text == null || text.isBlank() || (kind == Kind.FILE && !setting.inFiles()) ? null : text;
        }

        <T> T parse(Setting<T> setting) {
            return setting.parse(String.valueOf(text(setting)), source);
        }

        Layer only(Predicate<String> wanted) {
            return new Layer(
                    source,
                    kind,
                    values.entrySet().stream()
                            .filter(entry -> wanted.test(entry.getKey()))
                            .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue)));
        }

        Stream<String> warnings() {
            return values.keySet().stream().flatMap(name -> warning(name).stream());
        }

        private Optional<String> warning(String name) {
            Setting<?> setting = DECLARED.get(name);
            if (kind == Kind.FILE && setting != null && !setting.inFiles()) {
                return Optional.of(name + " (" + source + ") has no effect in a file; make it an environment variable");
            }
            return kind != Kind.PROCESS || UnknownNames.isOurs(name)
                    ? UnknownNames.warning(name, source, DECLARED.keySet())
                    : Optional.empty();
        }
    }
}
