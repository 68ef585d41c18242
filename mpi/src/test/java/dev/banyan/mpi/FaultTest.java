package dev.banyan.mpi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.parallel.ExecutionMode.CONCURRENT;

import dev.banyan.mpi.MpiRun.Outcome;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;

/**
 * Whatever goes wrong in one process, all live processes fail within the deadline, and none is left over. They wait for
 * deadlines most of the time, so they do it side by side.
 */
@Timeout(200)
class FaultTest {
    /** For what never happens. */
    private static final int SHORT_MS = 5_000;
    /** For what never happens after processes have met, which takes long on a busy machine. */
    private static final int DEADLINE_MS = 10_000;
    /** For what does happen. */
    private static final int LONG_MS = 60_000;

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
        Outcome outcome = run(FaultProgram.DIES, 3, LONG_MS, false);
        assertThat(outcome.text()).contains("Exit code:    7");
    }

    @Test
    @Execution(CONCURRENT)
    void processThatDiesIsMissedByTheOthersWhereMpirunLetsThemLive() throws Exception {
        Outcome outcome = run(FaultProgram.DIES, 3, DEADLINE_MS, true);
        assertThat(outcome.lines("did not end within " + DEADLINE_MS + " ms"))
                .as(outcome.text())
                .isGreaterThanOrEqualTo(2);
    }

    @Test
    @Execution(CONCURRENT)
    void processThatNeverArrivesIsMissed() throws Exception {
        Outcome outcome = run(FaultProgram.NEVER_ARRIVES, 3, DEADLINE_MS, false);
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
        Outcome outcome = run(FaultProgram.NEVER_OPENS, 3, SHORT_MS, false);
        for (int rank = 0; rank < 2; rank++) {
            assertThat(outcome.text())
                    .contains("rank " + rank + " failed: rank " + rank + " of 3: the start of MPI did not end within "
                            + SHORT_MS
                            + " ms: another process died, hangs, or never did its part; see what the others"
                            + " say, or allow more time by BANYAN_TIMEOUT_MS");
        }
    }

    @Test
    @Execution(CONCURRENT)
    void otherSettingsAreReportedToAll() throws Exception {
        Outcome outcome = run(FaultProgram.IS_SET_OTHERWISE, 2, LONG_MS, false);
        for (int rank = 0; rank < 2; rank++) {
            assertThat(outcome.text())
                    .contains("rank " + rank + " failed: rank " + rank
                            + " of 2: the start of MPI: the processes have different settings: rank 0 has"
                            + " BANYAN_CHECK_ORDER=1, BANYAN_OUTSTANDING=3 and BANYAN_REPRODUCIBLE=0, but rank 1 has"
                            + " BANYAN_CHECK_ORDER=1, BANYAN_OUTSTANDING=2 and BANYAN_REPRODUCIBLE=0; give all the"
                            + " same, variables also on other machines by mpirun -x NAME");
        }
    }

    @Test
    @Execution(CONCURRENT)
    void otherLengthAndEndOfTheWorldWhileOthersWorkAreReportedToAll() throws Exception {
        Outcome outcome = run(FaultProgram.REDUCES_LESS_AND_FINISHES_EARLY, 2, LONG_MS, false);
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
    void cancelledCallStillBreaksTheWorld() throws Exception {
        Outcome outcome = run(FaultProgram.NEVER_ARRIVES_AT_A_CANCELLED_CALL, 3, DEADLINE_MS, false);
        for (int rank = 0; rank < 2; rank++) {
            assertThat(outcome.text())
                    .contains("rank " + rank + " failed: the world of MPI is broken: rank " + rank
                            + " of 3: what reduces key 7 of 4 F32 by sum did not end within " + DEADLINE_MS + " ms");
        }
    }

    @Test
    @Execution(CONCURRENT)
    void workInFlightAtTheEndIsReportedToAll() throws Exception {
        Outcome outcome = run(FaultProgram.FINISHES_WITH_WORK, 2, SHORT_MS, false);
        for (int rank = 0; rank < 2; rank++) {
            assertThat(outcome.text()).contains("rank " + rank + " failed: rank " + rank + " of 2: ");
        }
    }

    /** In every fault with a failure that is looked at, two processes fail. */
    private Outcome run(FaultProgram fault, int processes, int deadlineMs, boolean othersLive) throws Exception {
        MpiRun run = new MpiRun(processes, FaultProgram.Main.class)
                .with("BANYAN_TIMEOUT_MS", deadlineMs)
                .with(fault.name(), folder.toString(), "2");
        Outcome outcome = (othersLive ? run.leavingOthersAlone() : run).run(folder);
        if (!othersLive) {
            assertThat(outcome.status()).as(outcome.text()).isNotZero();
        }
        assertThat(outcome.orphans()).isEmpty();
        return outcome;
    }
}
