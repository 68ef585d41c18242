package dev.banyan.djl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.test.TestProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Processes with a GPU each, on emulated drivers. */
class JoinedGpusTest {
    private static final String TO_HOST = "gradients go through the host's memory: ";

    @RegisterExtension
    private final dev.banyan.test.Processes processes = new dev.banyan.test.Processes();

    @TempDir
    private Path folder;

    @Test
    void gradientsAreAveragedWhereTheyLieOrAllGoThroughTheHost() throws Exception {
        dev.banyan.test.Processes.requireMpi();
        ProcessBuilder builder = processes.mpirun(
                2, List.of(), Jvm.command(List.of("-DBANYAN_ALGORITHM=star"), JoinedGpusProgram.class));
        builder.environment()
                .putAll(Map.of(
                        "LD_LIBRARY_PATH", CudaEmulator.build().toString(),
                        "BANYAN_NVML_LIBRARY", nvml().toString()));
        TestProcess run = processes.start(builder);
        assertThat(run.await()).isZero();
        assertThat(run.out().lines()).filteredOn("passed"::equals).hasSize(2);
        for (String reason : List.of(
                "only 1 of the 2 processes train on GPUs",
                "a gradient of shape (2, 3) does not lie row by row where it can be reached",
                "this process trains on gpu(2), but on gpu(0) before; train on one GPU",
                "this process trains on [gpu(0), gpu(2)]; give each process a GPU of its own by CUDA_VISIBLE_DEVICES",
                "another process can't use its GPU for them; see what it logs")) {
            assertThat(run.err()).contains(TO_HOST + reason);
        }
        assertThat(run.err()).contains("the devices of this machine's processes can't be joined");
    }

    /** Builds the stand-in for NVML, which describes the GPUs that the emulated driver has. */
    private Path nvml() throws Exception {
        Path probe = Path.of(System.getProperty("banyan.cuda.emulator")).resolve("../../nvml-probe");
        Path library = folder.resolve("libnvidia-ml.so.1");
        TestProcess gcc = processes.start(new ProcessBuilder(
                "gcc",
                "-shared",
                "-fPIC",
                "-o",
                library.toString(),
                probe.resolve("src/test/native/nvml_stand_in.c").toString(),
                "-ldl"));
        assertThat(gcc.await()).isZero();
        Files.copy(probe.resolve("src/test/resources/dev/banyan/nvml/p3.16xlarge.txt"), folder.resolve("machine.txt"));
        return library;
    }
}
