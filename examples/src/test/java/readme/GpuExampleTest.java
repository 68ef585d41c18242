package readme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.test.Processes;
import dev.banyan.test.TestProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The README's example on GPUs prints the mean on an emulated driver, and one sentence where there is no driver. */
class GpuExampleTest {
    private static final String TOPOLOGY = """
        \tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity
        GPU0\t X \tNV1\t0-31\t0
        GPU1\tNV1\t X \t0-31\t0
        """;

    @RegisterExtension
    private final Processes processes = new Processes();

    @TempDir
    private Path folder;

    @Test
    void printsTheMeanOfTwoGpus() throws IOException, InterruptedException {
        TestProcess process =
                start(Map.of("LD_LIBRARY_PATH", CudaEmulator.build().toString()));
        assertThat(process.lastLine()).isEqualTo("0.5");
        assertThat(process.await()).isZero();
    }

    @Test
    void namesTheMissingDriver() throws IOException, InterruptedException {
        assumeFalse(Files.exists(Path.of("/dev/nvidiactl")), "there is a driver on this machine");
        TestProcess process = start(Map.of());
        assertThat(process.err()).contains("no NVIDIA driver: libcuda.so.1").doesNotContain("UnsatisfiedLinkError");
        assertThat(process.await()).isOne();
    }

    /** Starts the example in a process of its own, which JCuda needs. */
    private TestProcess start(Map<String, String> environment) throws IOException {
        Files.writeString(folder.resolve("topo.txt"), TOPOLOGY);
        ProcessBuilder builder =
                new ProcessBuilder(Processes.java(List.of(), GpuExample.class.getName())).directory(folder.toFile());
        builder.environment().putAll(environment);
        return processes.start(builder);
    }
}
