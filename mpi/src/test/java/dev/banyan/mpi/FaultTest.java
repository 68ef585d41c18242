package dev.banyan.mpi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.parallel.ExecutionMode.CONCURRENT;

import dev.banyan.mpi.MpiRun.Outcome;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;

/**
 * Whatever goes wrong in one process, all that live are told within the deadline, and none is left over. They wait for
 * deadlines most of the time, so they do it side by side.
 */
@Timeout(200)
class FaultTest {
    private static final int DEADLINE_MS = 5000;

    @TempDir
    Path folder;

    @BeforeAll
    static void require() {
        MpiRun.requireMpi();
    }

    /** mpirun ends the others as soon as one has died. */
    @Test
    @Execution(CONCURRENT)
    void processThatDiesEndsTheRun() throws Exception {
        Outcome outcome = run(FaultProgram.DIES, 3, false);
        assertThat(outcome.text()).contains("Exit code:    7");
    }

    @Test
    @Execution(CONCURRENT)
    void processThatDiesIsMissedByTheOthersWhereMpirunLetsThemLive() throws Exception {
        Outcome outcome = run(FaultProgram.DIES, 3, true);
        assertThat(outcome.lines("did not end within " + DEADLINE_MS + " ms"))
                .as(outcome.text())
                .isGreaterThanOrEqualTo(2);
    }

    @Test
    @Execution(CONCURRENT)
    void processThatNeverArrivesIsMissed() throws Exception {
        Outcome outcome = run(FaultProgram.NEVER_ARRIVES, 3, false);
        for (int rank = 0; rank < 2; rank++) {
            assertThat(outcome.text())
                    .contains("rank " + rank + " failed: rank " + rank
                            + " of 3: what reduces an array of 4 F32 by sum did" + " not end within " + DEADLINE_MS
                            + " ms");
        }
    }

    @Test
    @Execution(CONCURRENT)
    void processThatNeverOpensTheWorldIsMissed() throws Exception {
        Outcome outcome = run(FaultProgram.NEVER_OPENS, 3, false);
        for (int rank = 0; rank < 2; rank++) {
            assertThat(outcome.text())
                    .contains("rank " + rank + " failed: rank " + rank + " of 3: the start of MPI did not end within "
                            + DEADLINE_MS
                            + " ms: another process died, hangs, or never did its part; see what the others"
                            + " say, or allow more time by BANYAN_TIMEOUT_MS");
        }
    }

    @Test
    @Execution(CONCURRENT)
    void otherSettingsAreToldToAll() throws Exception {
        Outcome outcome = run(FaultProgram.IS_SET_OTHERWISE, 2, false);
        for (int rank = 0; rank < 2; rank++) {
            assertThat(outcome.text())
                    .contains("rank " + rank + " failed: rank " + rank
                            + " of 2: the start of MPI: the processes have different settings: rank 0 has"
                            + " BANYAN_CHECK_ORDER=1 and BANYAN_OUTSTANDING=3, but rank 1 has BANYAN_CHECK_ORDER=1 and"
                            + " BANYAN_OUTSTANDING=2; give all the same, variables also on other machines by mpirun -x"
                            + " NAME");
        }
    }

    @Test
    @Execution(CONCURRENT)
    void otherLengthAndEndOfTheWorldWhileOthersWorkAreToldToAll() throws Exception {
        Outcome outcome = run(FaultProgram.REDUCES_LESS_AND_FINISHES_EARLY, 2, false);
        for (int rank = 0; rank < 2; rank++) {
            assertThat(outcome.text())
                    .contains("rank " + rank
                            + " goes on: the processes run different collectives: rank 0 reduces an array of 4"
                            + " F32 by sum, but rank 1 reduces an array of 2 F32 by sum; run them in one order"
                            + " on all")
                    .contains(
                            "rank " + rank + " failed: the processes run different collectives: rank 0 reduces an array"
                                    + " of 4 F32 by sum, but rank 1 ends the world; run them in one order on all");
        }
    }

    @Test
    @Execution(CONCURRENT)
    void workInFlightAtTheEndIsToldToAll() throws Exception {
        Outcome outcome = run(FaultProgram.FINISHES_WITH_WORK, 2, false);
        for (int rank = 0; rank < 2; rank++) {
            assertThat(outcome.text()).contains("rank " + rank + " failed: rank " + rank + " of 2: ");
        }
    }

    private Outcome run(FaultProgram fault, int processes, boolean othersLive) throws Exception {
        MpiRun run = new MpiRun(processes, FaultProgram.Main.class)
                .with("BANYAN_TIMEOUT_MS", DEADLINE_MS)
                .with(fault.name());
        Instant start = Instant.now();
        Outcome outcome = (othersLive ? run.leavingOthersAlone() : run).run(folder);
        if (!othersLive) {
            assertThat(outcome.status()).as(outcome.text()).isNotZero();
        }
        assertThat(outcome.orphans()).isEmpty();
        // Starting takes as long as it takes; nothing waits for ever, as it would without a deadline.
        assertThat(Duration.between(start, Instant.now())).isLessThan(Duration.ofMinutes(2));
        return outcome;
    }
}
