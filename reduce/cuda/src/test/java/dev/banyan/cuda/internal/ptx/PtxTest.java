package dev.banyan.cuda.internal.ptx;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cuda.internal.driver.CudaLibrary;
import dev.banyan.reduce.internal.sum.SumPass;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import jcuda.nvptxcompiler.JNvPTXCompiler;
import jcuda.nvptxcompiler.nvPTXCompileResult;
import jcuda.nvptxcompiler.nvPTXCompilerHandle;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every kernel is compiled by NVIDIA's compiler, which needs no GPU; a spilled register is an error. */
class PtxTest {
    @BeforeAll
    static void load() throws IOException {
        CudaLibrary.withOwnDirectory(() -> JNvPTXCompiler.setExceptionsEnabled(false));
    }

    @ParameterizedTest
    @CsvSource({"2, 70", "3, 90"})
    void kernelsCompileFor(int sources, int architecture) {
        compile(kernels(sources, sources), architecture);
    }

    @Tag("soak")
    @ParameterizedTest
    @ValueSource(ints = {70, 75, 80, 86, 89, 90})
    void allKernelsCompileFor(int architecture) {
        compile(kernels(2, 16), architecture);
        compile(programs(), architecture);
    }

    @Test
    void kernelsOfEightSourcesCompile() {
        compile(kernels(8, 8), 70);
    }

    /** Every second program for one architecture, and the other ones for another. */
    @ParameterizedTest
    @CsvSource({"0, 70", "1, 90"})
    void programKernelsCompileFor(int first, int architecture) {
        List<Kernel> all = programs();
        List<Kernel> some = IntStream.range(0, all.size())
                .filter(i -> i % 2 == first)
                .mapToObj(all::get)
                .toList();
        compile(some, architecture);
    }

    @Test
    void namesDiffer() {
        List<String> names = Stream.concat(kernels(2, 16).stream(), programs().stream())
                .map(Kernel::name)
                .toList();
        assertThat(names).doesNotHaveDuplicates().allMatch(name -> name.matches("banyan_[a-z0-9_]+"));
    }

    private static List<Kernel> kernels(int fewest, int most) {
        List<Kernel> kernels = new ArrayList<>();
        for (int inputs = fewest; inputs <= most; inputs++) {
            for (Element element : Element.values()) {
                for (ReduceOp op : ReduceOp.values()) {
                    if (op != ReduceOp.AVG && (element != Element.I128 || op == ReduceOp.SUM)) {
                        kernels.add(new Kernel.Reduce(op, element, inputs));
                    }
                }
            }
        }
        for (DataType type : DataType.values()) {
            if (!type.isFloating()) {
                kernels.add(new Kernel.Widen(type));
                kernels.add(new Kernel.Mean(type));
            } else {
                for (SumPass.Stage stage : SumPass.Stage.values()) {
                    kernels.add(new Kernel.Sum(stage, type, true));
                    if (type != DataType.F64) {
                        kernels.add(new Kernel.Sum(stage, type, false));
                    }
                }
                for (Kernel.Update.Rule rule : Kernel.Update.Rule.values()) {
                    kernels.add(new Kernel.Update(rule, type));
                }
            }
        }
        return kernels;
    }

    private static List<Kernel> programs() {
        return Stream.of(Element.values())
                .flatMap(element -> Stream.of(ReduceOp.values())
                        .filter(op -> op != ReduceOp.AVG && (element != Element.I128 || op == ReduceOp.SUM))
                        .<Kernel>map(op -> new Kernel.Program(op, element)))
                .toList();
    }

    /** All kernels as one module, which takes less time. */
    private static void compile(List<Kernel> kernels, int architecture) {
        String head = kernels.getFirst().ptx().lines().limit(3).collect(Collectors.joining("\n", "", "\n"));
        String module = head
                + kernels.stream()
                        .map(kernel -> kernel.ptx().lines().skip(3).collect(Collectors.joining("\n", "", "\n")))
                        .collect(Collectors.joining());
        byte[] text = (module + "\0").getBytes(StandardCharsets.US_ASCII);
        nvPTXCompilerHandle compiler = new nvPTXCompilerHandle();
        check(JNvPTXCompiler.nvPTXCompilerCreate(compiler, text.length, text), compiler);
        check(
                JNvPTXCompiler.nvPTXCompilerCompile(compiler, 2, new String[] {
                    "--gpu-name=sm_" + architecture, "--warn-on-spills", "--warning-as-error"
                }),
                compiler);
        long[] size = new long[1];
        check(JNvPTXCompiler.nvPTXCompilerGetCompiledProgramSize(compiler, size), compiler);
        assertThat(size[0]).isPositive();
        check(JNvPTXCompiler.nvPTXCompilerDestroy(compiler), compiler);
    }

    private static void check(int result, nvPTXCompilerHandle compiler) {
        if (result != nvPTXCompileResult.NVPTXCOMPILE_SUCCESS) {
            long[] size = new long[1];
            JNvPTXCompiler.nvPTXCompilerGetErrorLogSize(compiler, size);
            byte[] log = new byte[(int) size[0] + 1];
            JNvPTXCompiler.nvPTXCompilerGetErrorLog(compiler, log);
            throw new AssertionError(
                    nvPTXCompileResult.stringFor(result) + ": " + new String(log, StandardCharsets.US_ASCII).strip());
        }
    }
}
