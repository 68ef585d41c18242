package readme;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cuda.emulator.CudaEmulator;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** The example of docs/processes.md prints the mean in four processes, each with an emulated GPU of its own. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
@EnabledOnOs(OS.LINUX)
class JoinedGpusExampleTest {
    private static final int PROCESSES = 4;

    @TempDir
    private Path folder;

    @Test
    void printsTheMeanInEveryProcess() throws IOException, InterruptedException {
        List<Process> processes = new ArrayList<>();
        try {
            for (int rank = 0; rank < PROCESSES; rank++) {
                processes.add(start(rank));
            }
            for (Process process : processes) {
                String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                assertThat(text + "exit " + process.waitFor()).endsWith("1.5\nexit 0");
            }
        } finally {
            processes.forEach(Process::destroyForcibly);
        }
    }

    private Process start(int rank) throws IOException {
        Path gpu = Files.writeString(
                folder.resolve("gpu" + rank), "devices 1\nworkers 2\nbus 0 0000:00:1" + rank + ".0\n");
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        JoinedGpusExample.class.getName())
                .redirectErrorStream(true);
        builder.environment()
                .putAll(Map.of(
                        "LD_LIBRARY_PATH", CudaEmulator.build().toString(),
                        "BANYAN_EMULATED_CUDA", gpu.toString(),
                        "BANYAN_RANK", Integer.toString(rank),
                        "BANYAN_WORLD_SIZE", Integer.toString(PROCESSES),
                        "BANYAN_RENDEZVOUS", folder.resolve("job").toString()));
        return builder.start();
    }
}
