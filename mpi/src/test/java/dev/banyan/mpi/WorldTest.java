package dev.banyan.mpi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.mpi.MpiRun.Outcome;
import dev.banyan.test.Processes;
import dev.banyan.test.TestProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Worlds of several processes, and what is said where there is no MPI. */
class WorldTest {
    @RegisterExtension
    private final Processes processes = new Processes();

    @TempDir
    private Path folder;

    /** An MPI that reports that it takes memory of GPUs, which are emulated: their memory is the process's. */
    @Test
    void oneProcessIsAWorldAndMpiGetsMemoryOfDevicesOnlyIfAsked() throws Exception {
        Processes.requireMpi();
        Path mpi = cudaAwareMpi();
        pass(gpus(1).with("BANYAN_MPI_LIBRARY", mpi), 1, "copied: 3");
        pass(gpus(1).with("BANYAN_MPI_LIBRARY", mpi).with("BANYAN_MPI_DEVICE_MEMORY", 1), 1, "taken: 3");
    }

    @Test
    void twoProcesses() throws Exception {
        Processes.requireMpi();
        // Devices that join reduce once more, after a call that they refuse.
        pass(gpus(2), 2, "matrix: 91", "machines:1: 25", "gpus: 50", "apart: 13", "stores:1:4: 3", randomSums(8));
    }

    @Test
    void twoProcessesThatShareNoMemory() throws Exception {
        Processes.requireMpi();
        pass(
                world(2).with("BANYAN_SHARED_MEMORY", 0).with("BANYAN_CHECK_ORDER", 0),
                2,
                "matrix: 90",
                "mismatches:48: 48");
    }

    @Test
    void threeProcessesOfTwoMachines() throws Exception {
        Processes.requireMpi();
        pass(gpus(3), 3, "matrix: 91", "machines:2: 23", "gpus-of-machines: 10");
    }

    @Test
    void reproducibleSumsDoNotDependOnTheNumberOfProcesses() throws Exception {
        Processes.requireMpi();
        pass(world(3).with("BANYAN_REPRODUCIBLE", 1), 3, randomSums(8), "machines:2: 23", "machines:3: 25");
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "2, 1", "2, 0", "3, 1", "4, 1", "4, 0"})
    @Tag("soak")
    void everyLengthTypeAndOperationIsExactInEveryHierarchy(int number, int sharesMemory) throws Exception {
        Processes.requireMpi();
        pass(
                world(number).with("BANYAN_SHARED_MEMORY", sharesMemory),
                number,
                "full-matrix: " + (number > 1 && sharesMemory == 1 ? 1138 : 1136));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4})
    @Tag("soak")
    void sumsOfFewerAndMoreProcessesAreReproducible(int number) throws Exception {
        Processes.requireMpi();
        pass(world(number).with("BANYAN_REPRODUCIBLE", 1), number, randomSums(500));
    }

    @ParameterizedTest
    @CsvSource({"2, 0", "3, 1"})
    @Tag("soak")
    void mismatchesAreFoundWithoutTheCheckOfTheOrder(int number, int sharesMemory) throws Exception {
        Processes.requireMpi();
        pass(
                world(number).with("BANYAN_SHARED_MEMORY", sharesMemory).with("BANYAN_CHECK_ORDER", 0),
                number,
                "mismatches:1000: 1000");
    }

    @Test
    @Tag("soak")
    void fiveProcessesOfThreeMachines() throws Exception {
        Processes.requireMpi();
        pass(world(5), 5, "machines:3: 23", "stores:1:4: 3");
    }

    @Test
    @Tag("soak")
    void noDelayOfStoresMakesADeadlockAndEverySwapIsFound() throws Exception {
        Processes.requireMpi();
        pass(world(2), 2, "stores:100:1: 300");
    }

    /** Returns a part with 20 cases on each of so many communicators. Its name has the seed. */
    private static String randomSums(int communicators) {
        return "random-sums:" + communicators + ":" + System.nanoTime() + ": " + 20 * communicators;
    }

    private MpiRun world(int number) {
        return new MpiRun(processes, number).with("banyan.workloads", System.getProperty("banyan.workloads"));
    }

    /** With the emulated driver, which is built first. */
    private MpiRun gpus(int number) {
        return world(number).in("LD_LIBRARY_PATH", CudaEmulator.build());
    }

    /** @param parts of {@link WorldProgram}, each with the number of its cases */
    private static void pass(MpiRun run, int number, String... parts) throws Exception {
        String[] names = Arrays.stream(parts)
                .map(part -> part.substring(0, part.lastIndexOf(':')))
                .toArray(String[]::new);
        Outcome outcome = run.run(WorldProgram.class, names);
        for (String part : parts) {
            assertThat(outcome.lines("passed " + part + " cases")).as(part).isEqualTo(number);
        }
        assertThat(outcome.lines("finished")).isEqualTo(number);
        assertThat(outcome.status()).isZero();
    }

    /** Builds a library with one function before Open MPI's. */
    private Path cudaAwareMpi() throws Exception {
        Path source = Files.writeString(folder.resolve("aware.c"), "int MPIX_Query_cuda_support(void) { return 1; }\n");
        Path library = folder.resolve("libaware.so");
        TestProcess gcc = processes.start(new ProcessBuilder(
                "gcc",
                "-shared",
                "-fPIC",
                "-Wl,--no-as-needed",
                "-o",
                library.toString(),
                source.toString(),
                "-l:libmpi.so.40"));
        assertThat(gcc.await()).isZero();
        return library;
    }

    @Test
    void noNonblockingCollectiveOfMpiIsCalled() {
        assertThat(Arrays.stream(MpiCall.values()).map(call -> call.function.symbol()))
                .noneMatch(symbol -> symbol.matches("P?MPI_I(?!nit)[a-z].*"));
    }

    @Test
    void withoutMpiOneSentenceNamesTheRemedy() throws Exception {
        assertThatThrownBy(() -> MpiLibrary.load(folder.resolve("none").toString()))
                .isInstanceOf(MpiException.class)
                .hasMessage("BANYAN_MPI_LIBRARY=" + folder.resolve("none") + " is no file; name Open MPI's libmpi.so.40"
                        + " or unset it");
        Path text = Files.writeString(folder.resolve("text"), "no library");
        assertThatThrownBy(() -> MpiLibrary.load(text.toString()))
                .isInstanceOf(MpiException.class)
                .hasMessage("BANYAN_MPI_LIBRARY=" + text
                        + " can't be loaded here; name Open MPI's libmpi.so.40 or unset it");
    }
}
