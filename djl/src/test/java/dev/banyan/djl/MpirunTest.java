package dev.banyan.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.test.TestProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Programs that know nothing of Banyan, under mpirun; skipped where there is none. */
class MpirunTest {
    private static final int STEPS = TrainingPrograms.EPOCHS * 20;

    @RegisterExtension
    private final dev.banyan.test.Processes processes = new dev.banyan.test.Processes();

    @TempDir
    private Path folder;

    @BeforeAll
    static void require() {
        dev.banyan.test.Processes.requireMpi();
    }

    @Test
    void twoProcessesTrainAsOneShareDatasetsAndKeepTheSameModels() throws Exception {
        trainTogether(2);
        checkDatasets();
        checkModels();
    }

    @Test
    @Tag("soak")
    void fourProcessesTrainAsOne() throws Exception {
        trainTogether(4);
    }

    private void checkDatasets() throws IOException {
        for (String name : DatasetProgram.NAMES) {
            List<String> first = Files.readAllLines(folder.resolve(name + "-0.txt"));
            List<String> second = Files.readAllLines(folder.resolve(name + "-1.txt"));
            assertThat(first).as(name).hasSameSizeAs(second).doesNotContainAnyElementsOf(second);
            assertThat(folder.resolve(name + "-1.progress")).hasContent("100%");
            List<String> all = new ArrayList<>(first);
            all.addAll(second);
            assertThat(all).as(name).containsExactlyInAnyOrderElementsOf(DatasetProgram.samples());
        }
    }

    private void checkModels() throws IOException {
        List<String> trained = Files.readAllLines(folder.resolve("trained-0.txt"));
        assertThat(trained).anyMatch(line -> line.contains("runningMean")).noneMatch(line -> line.contains("NaN"));
        assertThat(Files.readAllLines(folder.resolve("trained-1.txt"))).isEqualTo(trained);
        assertThat(Files.readAllLines(folder.resolve("loaded-0.txt"))).isEqualTo(trained);
        assertThat(Files.readAllLines(folder.resolve("loaded-1.txt"))).isEqualTo(trained);
        assertThat(Files.readAllLines(folder.resolve("results-1.txt")))
                .isEqualTo(Files.readAllLines(folder.resolve("results-0.txt")))
                .hasSizeGreaterThan(3);
        assertThat(names(folder.resolve("checkpoints")))
                .containsExactly("norm-0001.params", "norm-0002.params", "norm-0003.params");
        assertThat(names(folder.resolve("model"))).containsExactly("norm-0007.params");
    }

    private static List<String> names(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void aFailureEndsAll() throws Exception {
        TestProcess run = start(2, FailingProgram.class);
        assertThat(run.await()).isNotZero();
        assertThat(run.err()).contains("this process fails");
    }

    @Test
    void anExitWithStatusZeroIsAGoodEnd() throws Exception {
        TestProcess run = start(2, ExitingProgram.class, "0");
        assertThat(run.await()).isZero();
        assertThat(names(folder)).contains("exiting-0000.params");
    }

    @Test
    void anExitWithAnotherStatusIsNone() throws Exception {
        TestProcess run = start(2, ExitingProgram.class, "3");
        assertThat(run.await()).isEqualTo(3);
    }

    private TestProcess start(int number, Class<?> program, String... more) throws IOException {
        List<String> arguments = new ArrayList<>(List.of(folder.toString()));
        arguments.addAll(List.of(more));
        return processes.start(
                processes.mpirun(number, List.of(), Jvm.command(List.of(), program, arguments.toArray(String[]::new))));
    }

    private void trainTogether(int number) throws Exception {
        TrainingProgram.run(folder, TrainingPrograms.EPOCHS, TrainingPrograms.OPTIMIZERS);
        assertThat(start(number, TrainingPrograms.class).await()).isZero();
        for (String optimizer : TrainingPrograms.OPTIMIZERS) {
            List<String> alone = Files.readAllLines(folder.resolve(optimizer + "-alone.txt"));
            List<String> first = Files.readAllLines(folder.resolve(optimizer + "-0.txt"));
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
            for (int rank = 1; rank < number; rank++) {
                assertThat(Files.readAllLines(folder.resolve(optimizer + "-" + rank + ".txt")))
                        .isEqualTo(first);
            }
        }
        List<String> replicas = ReplicasProgram.train();
        for (int rank = 0; rank < number; rank++) {
            assertThat(Files.readAllLines(folder.resolve("replicas-" + rank + ".txt")))
                    .as("reproducibly, by process %d", rank)
                    .isEqualTo(replicas);
        }
    }
}
