package dev.banyan.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The class path of a trainer without GPUs. */
class ClassPathIT {
    private static final long MOST_BYTES = 1_800_000;

    @Test
    void aTrainerWithoutGpusCarriesLittle() throws IOException {
        List<Path> jars;
        try (Stream<Path> files = Files.list(Path.of("target/lib"))) {
            jars = files.toList();
        }
        assertThat(jars.stream().map(jar -> jar.getFileName().toString()))
                .noneMatch(name -> name.startsWith("jcuda"))
                .noneMatch(name -> name.startsWith("jgrapht"))
                .noneMatch(name -> name.startsWith("jackson"))
                .anyMatch(name -> name.startsWith("banyan-communicator"));
        assertThat(jars.stream().mapToLong(jar -> jar.toFile().length()).sum())
                .as("bytes of %s", jars)
                .isLessThanOrEqualTo(MOST_BYTES);
    }
}
