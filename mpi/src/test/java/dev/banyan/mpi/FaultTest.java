package dev.banyan.mpi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.parallel.ExecutionMode.CONCURRENT;

import dev.banyan.mpi.MpiRun.Outcome;
import dev.banyan.test.Processes;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;

/** Whatever goes wrong in one process, all live processes fail within the deadline, and none is left over. */
@Execution(CONCURRENT)
class FaultTest {
    /** For calls that never end, whenever it begins. */
    private static final int SHORT_MS = 100;
    /** For calls of which some end. */
    private static final int MEDIUM_MS = 1_000;
    /** For calls that end. */
    private static final int LONG_MS = 600_000;

    @RegisterExtension
    private final Processes processes = new Processes();

    @TempDir
    private Path folder;

    @BeforeAll
    static void require() {
        Processes.requireMpi();
    }

    /** mpirun ends the others as soon as one has died. */
    @Test
    void processThatDiesEndsTheRun() throws Exception {
        String text = run(FaultProgram.DIES, 2, LONG_MS, 0);
        assertThat(text).contains("Exit code:    7");
    }

    @Test
    void processThatDiesIsMissedByTheOthersWhereMpirunLetsThemLive() throws Exception {
        Outcome outcome = new MpiRun(processes, 3)
                .leavingOthersAlone()
                .run(FaultProgram.Main.class, FaultProgram.DIES.name(), folder.toString(), "" + SHORT_MS, "2");
        for (int rank = 0; rank < 2; rank++) {
            assertThat(outcome.text()).contains(missed(rank, 3));
        }
    }

    @Test
    void processThatNeverArrivesIsMissed() throws Exception {
        String text = run(FaultProgram.NEVER_ARRIVES, 3, SHORT_MS, 2);
        for (int rank = 0; rank < 2; rank++) {
            assertThat(text).contains(missed(rank, 3));
        }
    }

    private static String missed(int rank, int size) {
        return "rank " + rank + " failed: rank " + rank + " of " + size
                + ": what reduces an array of 4 F32 by sum did not end within " + SHORT_MS + " ms";
    }

    @Test
    void processThatNeverOpensTheWorldIsMissed() throws Exception {
        String text = run(FaultProgram.NEVER_OPENS, 2, SHORT_MS, 1);
        assertThat(text)
                .contains("rank 0 failed: rank 0 of 2: the start of MPI did not end within " + SHORT_MS
                        + " ms: another process died, hangs, or never did its part; see what the others"
                        + " say, or allow more time by BANYAN_TIMEOUT_MS");
    }

    @Test
    void otherSettingsAreReportedToAll() throws Exception {
        String text = run(FaultProgram.IS_SET_OTHERWISE, 2, LONG_MS, 2);
        for (int rank = 0; rank < 2; rank++) {
            assertThat(text)
                    .contains("rank " + rank + " failed: rank " + rank
                            + " of 2: the start of MPI: the processes have different settings: rank 0 has"
                            + " BANYAN_CHECK_ORDER=1, BANYAN_OUTSTANDING=3 and BANYAN_REPRODUCIBLE=0, but rank 1 has"
                            + " BANYAN_CHECK_ORDER=1, BANYAN_OUTSTANDING=2 and BANYAN_REPRODUCIBLE=0; give all the"
                            + " same, variables also on other machines by mpirun -x NAME");
        }
    }

    @Test
    void otherLengthAndEndOfTheWorldWhileOthersWorkAreReportedToAll() throws Exception {
        String text = run(FaultProgram.REDUCES_LESS_AND_FINISHES_EARLY, 2, LONG_MS, 2);
        for (int rank = 0; rank < 2; rank++) {
            assertThat(text)
                    .contains("rank " + rank
                            + " goes on: the processes run different collectives: rank 0 reduces an array of 4"
                            + " F32 by sum, but rank 1 reduces an array of 2 F32 by sum; run them in one order"
                            + " on all")
                    .contains(
                            "rank " + rank + " failed: the processes run different collectives: rank 0 reduces an array"
                                    + " of 4 F32 by sum, but rank 1 ends the world; run them in one order on all");
        }
    }

    /** The small array is on its own, so that bytes of the large one would be foreign ones behind it. */
    @Test
    void swapOfKnownLengthsEndsInATimeoutWithoutTheCheckOfTheOrder() throws Exception {
        String text = run(FaultProgram.SWAPS, 2, MEDIUM_MS, 2);
        assertThat(text)
                .contains("rank 0 failed: rank 0 of 2: what reduces an array of 4 F32 by sum did not end within")
                .contains("rank 1 failed: rank 1 of 2: what reduces an array of 1048576 F32 by sum did not end within");
    }

    @Test
    void cancelledCallStillBreaksTheWorld() throws Exception {
        String text = run(FaultProgram.NEVER_ARRIVES_AT_A_CANCELLED_CALL, 2, SHORT_MS, 1);
        assertThat(text)
                .contains("rank 0 failed: the world of MPI is broken: rank 0 of 2: what reduces key 7 of 4 F32 by sum"
                        + " did not end within " + SHORT_MS + " ms");
    }

    @Test
    void workInFlightAtTheEndIsReportedToAll() throws Exception {
        String text = run(FaultProgram.FINISHES_WITH_WORK, 2, SHORT_MS, 2);
        for (int rank = 0; rank < 2; rank++) {
            // The deadline may pass before the process ends the world, or after.
            assertThat(text)
                    .containsPattern("rank " + rank + " failed: (the world of MPI is broken: )?rank " + rank
                            + " of 2: (what reduces key 7 of 4 F32 by sum|work in flight) did not end within "
                            + SHORT_MS + " ms");
        }
    }

    /**
     * Returns what was written in a run that mpirun ends.
     *
     * @param failures number of processes that fail; the other ones are ended
     */
    private String run(FaultProgram fault, int number, int deadlineMs, int failures) throws Exception {
        Outcome outcome = new MpiRun(processes, number)
                .run(FaultProgram.Main.class, fault.name(), folder.toString(), "" + deadlineMs, "" + failures);
        assertThat(outcome.status()).isNotZero();
        return outcome.text();
    }
}
