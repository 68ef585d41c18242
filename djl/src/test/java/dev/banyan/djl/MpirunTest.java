package dev.banyan.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Programs that know nothing of Banyan, under mpirun; skipped where there is none. */
class MpirunTest {
    private static final List<String> OPTIMIZERS = List.of("sgd", "momentum", "adam");
    private static final int STEPS = 200;

    @TempDir
    static Path folder;

    @BeforeAll
    static void trainAlone() throws Exception {
        assumeTrue(
                Programs.haveMpirun(),
                "needs Open MPI's mpirun on the path (apt-get install openmpi-bin libopenmpi-dev)");
        for (String optimizer : OPTIMIZERS) {
            Files.write(folder.resolve(optimizer + "-alone.txt"), TrainingProgram.train(optimizer, STEPS / 20));
        }
    }

    @Test
    void twoProcessesTrainAsOne() throws Exception {
        compare(2);
    }

    @Test
    @Tag("soak")
    void fourProcessesTrainAsOne() throws Exception {
        compare(4);
    }

    @Test
    void datasetsOfFilesAreShared() throws Exception {
        Path out = Files.createDirectories(folder.resolve("datasets"));
        Programs.Run run = Programs.mpirun(2, folder, List.of(), DatasetProgram.class, out.toString());
        assertThat(run.status()).as(run.output()).isZero();
        for (String name : DatasetProgram.NAMES) {
            List<String> first = Files.readAllLines(out.resolve(name + "-0.txt"));
            List<String> second = Files.readAllLines(out.resolve(name + "-1.txt"));
            assertThat(first).as(name).hasSameSizeAs(second).doesNotContainAnyElementsOf(second);
            assertThat(out.resolve(name + "-1.progress")).hasContent("100%");
            List<String> all = new ArrayList<>(first);
            all.addAll(second);
            assertThat(all).as(name).containsExactlyInAnyOrderElementsOf(DatasetProgram.samples());
        }
    }

    @Test
    void modelsAreTheSameWhateverTheyRemember() throws Exception {
        Path out = Files.createDirectories(folder.resolve("norm"));
        Programs.Run run = Programs.mpirun(2, folder, List.of(), NormProgram.class, out.toString());
        assertThat(run.status()).as(run.output()).isZero();
        List<String> trained = Files.readAllLines(out.resolve("trained-0.txt"));
        assertThat(trained).anyMatch(line -> line.contains("runningMean")).noneMatch(line -> line.contains("NaN"));
        assertThat(Files.readAllLines(out.resolve("trained-1.txt"))).isEqualTo(trained);
        assertThat(Files.readAllLines(out.resolve("loaded-0.txt"))).isEqualTo(trained);
        assertThat(Files.readAllLines(out.resolve("loaded-1.txt"))).isEqualTo(trained);
        assertThat(Files.readAllLines(out.resolve("results-1.txt")))
                .isEqualTo(Files.readAllLines(out.resolve("results-0.txt")))
                .hasSizeGreaterThan(3);
        assertThat(names(out.resolve("checkpoints")))
                .containsExactly("norm-0001.params", "norm-0002.params", "norm-0003.params");
        assertThat(names(out.resolve("model"))).containsExactly("norm-0007.params");
    }

    private static List<String> names(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void aFailureEndsAll() throws Exception {
        Programs.Run run = Programs.mpirun(
                2,
                folder,
                List.of(),
                FailingProgram.class,
                folder.resolve("failed").toString());
        assertThat(run.status()).as(run.output()).isNotZero();
        assertThat(run.output()).contains("this process fails");
    }

    @Test
    void anExitWithStatusZeroIsAGoodEnd() throws Exception {
        Path out = Files.createDirectories(folder.resolve("exit-0"));
        Programs.Run run = Programs.mpirun(2, folder, List.of(), ExitingProgram.class, out.toString(), "0");
        assertThat(run.status()).as(run.output()).isZero();
        assertThat(names(out)).contains("exiting-0000.params");
    }

    @Test
    void anExitWithAnotherStatusIsNone() throws Exception {
        Path out = Files.createDirectories(folder.resolve("exit-3"));
        Programs.Run run = Programs.mpirun(2, folder, List.of(), ExitingProgram.class, out.toString(), "3");
        assertThat(run.status()).as(run.output()).isEqualTo(3);
    }

    private static void compare(int processes) throws Exception {
        Path out = Files.createDirectories(folder.resolve(processes + "-processes"));
        List<String> arguments = new ArrayList<>(List.of(out.toString(), String.valueOf(STEPS / 20)));
        arguments.addAll(OPTIMIZERS);
        Programs.Run run =
                Programs.mpirun(processes, folder, List.of(), TrainingProgram.class, arguments.toArray(String[]::new));
        assertThat(run.status()).as(run.output()).isZero();
        for (String optimizer : OPTIMIZERS) {
            List<String> alone = Files.readAllLines(folder.resolve(optimizer + "-alone.txt"));
            List<String> first = Files.readAllLines(out.resolve(optimizer + "-0.txt"));
            assertThat(alone.indexOf("")).isEqualTo(STEPS);
            assertThat(first).hasSameSizeAs(alone);
            for (int line = 0; line < alone.size(); line++) {
                if (line != STEPS) {
                    double expected = Double.parseDouble(alone.get(line));
                    assertThat(Double.parseDouble(first.get(line)))
                            .as("%s, line %d", optimizer, line)
                            .isCloseTo(expected, within(line < STEPS ? 1e-4 * Math.abs(expected) : 1e-4));
                }
            }
            for (int rank = 1; rank < processes; rank++) {
                assertThat(Files.readAllLines(out.resolve(optimizer + "-" + rank + ".txt")))
                        .isEqualTo(first);
            }
        }
    }
}
