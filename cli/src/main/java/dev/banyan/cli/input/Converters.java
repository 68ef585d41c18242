package dev.banyan.cli.input;

import dev.banyan.InputException;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.ProfileJson;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.text.ByteSize;
import dev.banyan.study.text.Names;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import picocli.CommandLine;
import picocli.CommandLine.TypeConversionException;

/** Converts words of the command line to the values of options, by the options' types. */
public final class Converters {
    private final CommandLine command;

    /** Registers the types of this package with a command and its subcommands. */
    public Converters(CommandLine command) {
        this.command = command;
        Map<String, Collective> collectives = Names.of(Collective.values(), Collective::label);
        // The underscores may be missing, as in the names of nccl-tests' programs.
        collectives.putAll(Names.of(Collective.values(), one -> one.label().replace("_", "")));
        add(ByteSize.class, ByteSize::parse);
        add(DeviceList.class, DeviceList::parse);
        add(RelayOption.Relays.class, RelayOption.Relays::parse);
        add(Profile.class, Converters::profile);
        add(Collective.class, "collective", collectives);
        for (Class<Integer> type : List.of(int.class, Integer.class)) {
            add(type, word -> number(word, Integer::valueOf, "a whole number up to " + Integer.MAX_VALUE));
        }
        for (Class<Double> type : List.of(double.class, Double.class)) {
            add(type, word -> number(word, Double::valueOf, "a number"));
        }
    }

    private static <T> T number(String word, Function<String, T> parser, String kind) {
        try {
            return parser.apply(word);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("'" + word + "' is not " + kind, e);
        }
    }

    /** Registers a parser whose {@link IllegalArgumentException} is wrong usage. */
    public <T> void add(Class<T> type, Function<String, T> parser) {
        command.registerConverter(type, word -> {
            try {
                return parser.apply(word);
            } catch (IllegalArgumentException | InputException e) {
                throw new TypeConversionException(e.getMessage());
            }
        });
    }

    /**
     * Registers names in any case.
     *
     * @param kind what the names are names of, for messages
     * @param names values by name in lower case
     */
    public <T> void add(Class<T> type, String kind, Map<String, T> names) {
        add(type, name -> Names.find(kind, names, name));
    }

    private static Profile profile(String name) {
        Optional<Profile> known = Profiles.find(name.toLowerCase(Locale.ROOT));
        if (known.isPresent()) {
            return known.get();
        }
        try {
            Path file = Path.of(name);
            if (Files.exists(file)) {
                return ProfileJson.read(file);
            }
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException("'" + name + "' can be neither a profile nor a file's name", e);
        }
        List<String> names = Profiles.all().stream().map(Profile::name).toList();
        throw new IllegalArgumentException(
                "no profile and no file is called '" + name + "'" + Names.others(name, "profiles", names));
    }
}
