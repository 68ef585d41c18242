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
import org.junit.jupiter.params.provider.ValueSource;

/** Stores over several processes. */
class StoresTest {
    @TempDir
    Path folder;

    @BeforeAll
    static void require() {
        MpiRun.requireMpi();
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    @Timeout(200)
    void allTypesGiveTheSameAndRefuseWhatDiffers(int processes) throws Exception {
        run(processes, 3);
    }

    @Test
    @Tag("soak")
    void noDelayMakesADeadlock() throws Exception {
        run(2, 100);
    }

    private void run(int processes, int seeds) throws Exception {
        Outcome outcome = new MpiRun(processes, StoresProgram.class)
                .with("BANYAN_TIMEOUT_MS", 60_000)
                .with(Integer.toString(seeds))
                .within(60L + 10L * seeds)
                .run(folder);
        assertThat(outcome.lines("passed")).as(outcome.text()).isEqualTo(processes);
        assertThat(outcome.status()).as(outcome.text()).isZero();
        assertThat(outcome.orphans()).isEmpty();
    }
}
