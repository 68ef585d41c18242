package readme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import dev.banyan.cuda.emulator.CudaEmulator;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The README's example on GPUs prints the mean on an emulated driver, and one sentence where there is no driver. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class GpuExampleTest {
    private static final String TOPOLOGY = """
        \tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity
        GPU0\t X \tNV1\t0-31\t0
        GPU1\tNV1\t X \t0-31\t0
        """;

    @TempDir
    private Path folder;

    @Test
    void printsTheMeanOfTwoGpus() throws IOException, InterruptedException {
        assertThat(run(Map.of("LD_LIBRARY_PATH", CudaEmulator.build().toString())))
                .endsWith("0.5\nexit 0");
    }

    @Test
    void namesTheMissingDriver() throws IOException, InterruptedException {
        assumeFalse(Files.exists(Path.of("/dev/nvidiactl")), "there is a driver on this machine");
        assertThat(run(Map.of()))
                .contains("no NVIDIA driver: libcuda.so.1")
                .doesNotContain("UnsatisfiedLinkError")
                .endsWith("exit 1");
    }

    /** Returns what the example prints in a process of its own, which JCuda needs, and its exit status. */
    private String run(Map<String, String> environment) throws IOException, InterruptedException {
        Files.writeString(folder.resolve("topo.txt"), TOPOLOGY);
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        GpuExample.class.getName())
                .directory(folder.toFile())
                .redirectErrorStream(true);
        builder.environment().putAll(environment);
        Process process = builder.start();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return text + "exit " + process.waitFor();
    }
}
