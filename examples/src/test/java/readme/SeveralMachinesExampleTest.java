package readme;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.test.Processes;
import dev.banyan.test.TestProcess;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The example of docs/mpi.md sums over the four devices of one process where it is started without mpirun. */
class SeveralMachinesExampleTest {
    @RegisterExtension
    private final Processes processes = new Processes();

    @Test
    void printsTheSumInAWorldOfOneProcess() throws IOException, InterruptedException {
        Processes.requireMpi();
        // MPI starts once per process and leaves its marks, so it gets one of its own.
        TestProcess process =
                processes.start(new ProcessBuilder(Processes.java(List.of(), SeveralMachinesExample.class.getName())));
        assertThat(process.lastLine()).isEqualTo("4.0");
        assertThat(process.await()).isZero();
    }
}
