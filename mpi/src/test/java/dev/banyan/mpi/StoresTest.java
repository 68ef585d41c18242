package dev.banyan.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.mpi.MpiRun.Outcome;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Stores over several processes. */
class StoresTest {
    @TempDir
    Path folder;

    @BeforeAll
    static void require() {
        MpiRun.requireMpi();
    }

    @ParameterizedTest
    @CsvSource({"2, 2", "3, 1"})
    @Timeout(200)
    void allTypesGiveTheSameAndRefuseWhatDiffers(int processes, int seeds) throws Exception {
        run(processes, seeds);
    }

    @Test
    @Tag("soak")
    void noDelayMakesADeadlockAndEverySwapIsFound() throws Exception {
        run(2, 100);
    }

    private void run(int processes, int seeds) throws Exception {
        Outcome outcome = new MpiRun(processes, StoresProgram.class)
                .with("BANYAN_TIMEOUT_MS", 60_000)
                .with("banyan.workloads", System.getProperty("banyan.workloads"))
                .with(Integer.toString(seeds))
                .within(60L + 10L * seeds)
                .run(folder);
        assertThat(outcome.lines("passed")).as(outcome.text()).isEqualTo(processes);
        assertThat(outcome.lines("found " + 3 * seeds + " swaps")).isEqualTo(processes);
        assertThat(outcome.status()).as(outcome.text()).isZero();
        assertThat(outcome.orphans()).isEmpty();
    }
}
