package dev.banyan.mpi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.mpi.MpiRun.Outcome;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Worlds of several processes, and what is said where there is no MPI. */
@Timeout(200)
class WorldTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"1, 1", "2, 1", "2, 0", "3, 1"})
    void everyTypeAndOperationIsExactOverAllDevices(int processes, int sharesMemory) throws Exception {
        check(processes, sharesMemory);
    }

    @Test
    @Tag("soak")
    void everyTypeAndOperationIsExactOverAllDevicesOfFour() throws Exception {
        check(4, 0);
        check(4, 1);
    }

    private void check(int processes, int sharesMemory) throws Exception {
        MpiRun.requireMpi();
        Outcome outcome = new MpiRun(processes, MatrixProgram.class)
                .with("BANYAN_SHARED_MEMORY", sharesMemory)
                .run(folder);
        // Where devices of several processes join, a call after one that is refused for each number of devices.
        String passed = "passed " + (processes > 1 && sharesMemory == 1 ? 1138 : 1136) + " cases";
        assertThat(outcome.lines(passed)).as(outcome.text()).isEqualTo(processes);
        assertThat(outcome.text()).doesNotContain("own devices first");
        assertThat(outcome.status()).as(outcome.text()).isZero();
        assertThat(outcome.orphans()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5})
    void processesOfOneMachineShareMemoryAndMpiGoesBetweenMachines(int processes) throws Exception {
        MpiRun.requireMpi();
        Outcome outcome = new MpiRun(processes, MachinesProgram.class).run(folder);
        assertThat(outcome.lines("passed 134 cases")).as(outcome.text()).isEqualTo(processes);
        assertThat(outcome.status()).as(outcome.text()).isZero();
        assertThat(outcome.orphans()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void sumsThatAreRoundedOnceDoNotDependOnTheNumberOfProcesses(int processes) throws Exception {
        MpiRun.requireMpi();
        Outcome outcome = new MpiRun(processes, ExactProgram.class)
                .with("BANYAN_REPRODUCIBLE", "exact")
                .run(folder);
        assertThat(outcome.lines("passed 18 cases")).as(outcome.text()).isEqualTo(processes);
        assertThat(outcome.status()).as(outcome.text()).isZero();
        assertThat(outcome.orphans()).isEmpty();
    }

    @Test
    void memoryOfDevicesGoesThroughPinnedMemoryAndStraight() throws Exception {
        MpiRun.requireMpi();
        Outcome outcome = new MpiRun(2, DevicesProgram.class)
                .in("LD_LIBRARY_PATH", CudaEmulator.build())
                .run(folder);
        assertThat(outcome.lines("passed 493 cases")).as(outcome.text()).isEqualTo(2);
        assertThat(outcome.status()).as(outcome.text()).isZero();
        assertThat(outcome.orphans()).isEmpty();
    }

    @Test
    void gpusOfSeveralProcessesReachEachOther() throws Exception {
        MpiRun.requireMpi();
        Outcome outcome = new MpiRun(2, DevicesProgram.class)
                .in("LD_LIBRARY_PATH", CudaEmulator.build())
                .with("apart")
                .run(folder);
        assertThat(outcome.lines("passed 123 cases")).as(outcome.text()).isEqualTo(2);
        assertThat(outcome.text()).doesNotContain("own devices first");
        assertThat(outcome.status()).as(outcome.text()).isZero();
        assertThat(outcome.orphans()).isEmpty();
    }

    @Test
    void oneProcessOfEachMachineExchangesSumsOfItsGpus() throws Exception {
        MpiRun.requireMpi();
        Outcome outcome = new MpiRun(3, DevicesProgram.class)
                .in("LD_LIBRARY_PATH", CudaEmulator.build())
                .with("machines")
                .run(folder);
        assertThat(outcome.lines("passed 37 cases")).as(outcome.text()).isEqualTo(3);
        assertThat(outcome.status()).as(outcome.text()).isZero();
        assertThat(outcome.orphans()).isEmpty();
    }

    /** An MPI that reports that it takes memory of GPUs, which are emulated: their memory is the process's. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void anMpiThatCouldTakeMemoryOfDevicesGetsItOnlyIfAsked(int asked) throws Exception {
        MpiRun.requireMpi();
        Path driver = CudaEmulator.build();
        Outcome outcome = new MpiRun(1, DevicesProgram.class)
                .in("LD_LIBRARY_PATH", driver)
                .with("BANYAN_MPI_LIBRARY", cudaAwareMpi())
                .with("BANYAN_MPI_DEVICE_MEMORY", asked)
                .with(asked == 1 ? "taken" : "copied")
                .run(folder);
        assertThat(outcome.lines("passed 3 cases")).as(outcome.text()).isEqualTo(1);
        assertThat(outcome.status()).as(outcome.text()).isZero();
    }

    /** Builds a library with one function before Open MPI's. */
    private Path cudaAwareMpi() throws Exception {
        Path source = Files.writeString(folder.resolve("aware.c"), "int MPIX_Query_cuda_support(void) { return 1; }\n");
        Path library = folder.resolve("libaware.so");
        Process gcc = new ProcessBuilder(
                        "gcc",
                        "-shared",
                        "-fPIC",
                        "-Wl,--no-as-needed",
                        "-o",
                        library.toString(),
                        source.toString(),
                        "-l:libmpi.so.40")
                .redirectErrorStream(true)
                .start();
        String output = new String(gcc.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(gcc.waitFor()).as(output).isZero();
        return library;
    }

    @Test
    void noNonblockingCollectiveOfMpiIsCalled() {
        assertThat(Arrays.stream(MpiCall.values()).map(MpiCall::symbol))
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
