package readme;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.test.Processes;
import dev.banyan.test.TestProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The example of docs/processes.md prints the mean in four processes, each with an emulated GPU of its own. */
@EnabledOnOs(OS.LINUX)
class JoinedGpusExampleTest {
    private static final int PROCESSES = 4;

    @RegisterExtension
    private final Processes processes = new Processes();

    @TempDir
    private Path folder;

    @Test
    void printsTheMeanInEveryProcess() throws IOException, InterruptedException {
        List<TestProcess> started = new ArrayList<>();
        for (int rank = 0; rank < PROCESSES; rank++) {
            started.add(start(rank));
        }
        for (TestProcess process : started) {
            assertThat(process.lastLine()).isEqualTo("1.5");
            assertThat(process.await()).isZero();
        }
    }

    private TestProcess start(int rank) throws IOException {
        Path gpu = Files.writeString(
                folder.resolve("gpu" + rank), "devices 1\nworkers 2\nbus 0 0000:00:1" + rank + ".0\n");
        ProcessBuilder builder = new ProcessBuilder(Processes.java(List.of(), JoinedGpusExample.class.getName()));
        builder.environment()
                .putAll(Map.of(
                        "LD_LIBRARY_PATH", CudaEmulator.build().toString(),
                        "BANYAN_EMULATED_CUDA", gpu.toString(),
                        "BANYAN_RANK", Integer.toString(rank),
                        "BANYAN_WORLD_SIZE", Integer.toString(PROCESSES),
                        "BANYAN_RENDEZVOUS", folder.resolve("job").toString()));
        return processes.start(builder);
    }
}
