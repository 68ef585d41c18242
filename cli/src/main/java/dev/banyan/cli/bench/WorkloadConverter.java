package dev.banyan.cli.bench;

import dev.banyan.cli.input.NamedConverter;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** For picocli: a workload by its model's name, in any case, or out of a file. */
public final class WorkloadConverter implements ITypeConverter<Workload> {
    private final Models models = new Models();

    private static final class Models extends NamedConverter<Workload> {
        Models() {
            super("workload", Workload.all());
        }
    }

    @Override
    public Workload convert(String name) {
        try {
            Path file = Path.of(name);
            return Files.isRegularFile(file) ? Workload.read(file) : models.convert(name);
        } catch (InvalidPathException e) {
            throw new TypeConversionException("'" + name + "' can be neither a workload nor a file's name");
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }
}
