package readme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The example of docs/mpi.md sums over the four devices of one process where it is started without mpirun. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class SeveralMachinesExampleTest {
    @Test
    void printsTheSumInAWorldOfOneProcess() throws IOException, InterruptedException {
        // MPI starts once per process and leaves its marks, so it gets one of its own.
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        SeveralMachinesExample.class.getName())
                .redirectErrorStream(true)
                .start();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        int status = process.waitFor();
        assumeFalse(text.contains("install Open MPI"), "there is no Open MPI");
        assertThat(text).contains("4.0");
        assertThat(status).as(text).isZero();
    }
}
