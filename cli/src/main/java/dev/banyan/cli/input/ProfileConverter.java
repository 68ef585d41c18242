package dev.banyan.cli.input;

import dev.banyan.simulate.Profile;
import dev.banyan.simulate.ProfileException;
import dev.banyan.simulate.ProfileJson;
import dev.banyan.simulate.Profiles;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** For picocli: a profile by its name, in any case, or out of a JSON file. */
public final class ProfileConverter implements ITypeConverter<Profile> {
    /** For picocli. */
    public ProfileConverter() {}

    @Override
    public Profile convert(String name) {
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
            throw new TypeConversionException("'" + name + "' can be neither a profile nor a file's name");
        } catch (ProfileException e) {
            throw new TypeConversionException(e.getMessage());
        }
        List<String> names = Profiles.all().stream().map(Profile::name).toList();
        List<String> similar = Similar.to(name, names);
        throw new TypeConversionException("no profile and no file is called '" + name + "'"
                + (similar.isEmpty() ? "" : "; did you mean " + String.join(" or ", similar) + "?")
                + "; profiles: " + String.join(", ", names));
    }
}
