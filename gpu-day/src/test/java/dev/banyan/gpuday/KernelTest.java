package dev.banyan.gpuday;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import jcuda.nvptxcompiler.JNvPTXCompiler;
import jcuda.nvptxcompiler.nvPTXCompileResult;
import jcuda.nvptxcompiler.nvPTXCompilerHandle;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every kernel is compiled by NVIDIA's compiler, which needs no GPU. */
class KernelTest {
    @BeforeAll
    static void load(@TempDir Path folder) {
        String shared = System.getProperty("java.io.tmpdir");
        // The bindings unpack their native part there, to a fixed name.
        System.setProperty("java.io.tmpdir", folder.toString());
        try {
            JNvPTXCompiler.setExceptionsEnabled(false);
        } finally {
            System.setProperty("java.io.tmpdir", shared);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {70, 90})
    void kernelsCompileFor(int architecture) {
        for (Kernel kernel : Kernel.all()) {
            compile(kernel, architecture);
        }
    }

    @ParameterizedTest
    @Tag("soak")
    @ValueSource(ints = {75, 80, 86, 89})
    void kernelsCompileForArchitecturesBetween(int architecture) {
        kernelsCompileFor(architecture);
    }

    @Test
    void namesDifferAndTextsAreWhole() {
        assertThat(Kernel.all()).extracting(Kernel::name).doesNotHaveDuplicates();
        assertThat(Kernel.all())
                .allSatisfy(kernel -> assertThat(kernel.ptx())
                        .contains(".entry " + kernel.name() + "(")
                        .doesNotContainPattern("<[A-Z]+>"));
    }

    private static void compile(Kernel kernel, int architecture) {
        byte[] text = (kernel.ptx() + "\0").getBytes(StandardCharsets.US_ASCII);
        nvPTXCompilerHandle compiler = new nvPTXCompilerHandle();
        check(JNvPTXCompiler.nvPTXCompilerCreate(compiler, text.length, text), compiler, kernel);
        check(
                JNvPTXCompiler.nvPTXCompilerCompile(
                        compiler, 2, new String[] {"--gpu-name=sm_" + architecture, "--warn-on-spills"}),
                compiler,
                kernel);
        check(JNvPTXCompiler.nvPTXCompilerDestroy(compiler), compiler, kernel);
    }

    private static void check(int result, nvPTXCompilerHandle compiler, Kernel kernel) {
        if (result != nvPTXCompileResult.NVPTXCOMPILE_SUCCESS) {
            long[] size = new long[1];
            JNvPTXCompiler.nvPTXCompilerGetErrorLogSize(compiler, size);
            byte[] log = new byte[(int) size[0] + 1];
            JNvPTXCompiler.nvPTXCompilerGetErrorLog(compiler, log);
            throw new AssertionError(kernel.name() + ": " + nvPTXCompileResult.stringFor(result) + ": "
                    + new String(log, StandardCharsets.US_ASCII).strip());
        }
    }
}
