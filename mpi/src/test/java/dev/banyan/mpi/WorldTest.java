package dev.banyan.mpi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.mpi.MpiRun.Outcome;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Worlds of several processes, and what is said where there is no MPI. */
@Timeout(200)
class WorldTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void everyTypeAndOperationIsExactOverAllDevices(int processes) throws Exception {
        check(processes);
    }

    @Test
    @Tag("soak")
    void everyTypeAndOperationIsExactOverAllDevicesOfFour() throws Exception {
        check(4);
    }

    private void check(int processes) throws Exception {
        MpiRun.requireMpi();
        Outcome outcome = new MpiRun(processes, MatrixProgram.class).run(folder);
        assertThat(outcome.text()).contains("passed 812 cases");
        assertThat(outcome.lines("passed 812 cases")).as(outcome.text()).isEqualTo(processes);
        assertThat(outcome.status()).as(outcome.text()).isZero();
        assertThat(outcome.orphans()).isEmpty();
    }

    @Test
    void memoryOfDevicesGoesThroughPinnedMemoryAndStraight() throws Exception {
        MpiRun.requireMpi();
        Outcome outcome = new MpiRun(2, DevicesProgram.class)
                .in("LD_LIBRARY_PATH", CudaEmulator.build())
                .run(folder);
        assertThat(outcome.lines("passed 489 cases")).as(outcome.text()).isEqualTo(2);
        assertThat(outcome.status()).as(outcome.text()).isZero();
        assertThat(outcome.orphans()).isEmpty();
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
