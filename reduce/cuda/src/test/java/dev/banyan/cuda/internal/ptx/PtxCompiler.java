package dev.banyan.cuda.internal.ptx;

import dev.banyan.cuda.internal.driver.CudaLibrary;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import jcuda.nvptxcompiler.JNvPTXCompiler;
import jcuda.nvptxcompiler.nvPTXCompileResult;
import jcuda.nvptxcompiler.nvPTXCompilerHandle;

/**
 * NVIDIA's compilers of PTX, which need no GPU: the library that JCuda brings, and the program ptxas where it is found.
 */
public final class PtxCompiler {
    private static final Pattern FUNCTION = Pattern.compile("Function properties for (\\w+)");
    private static final Pattern SPILL = Pattern.compile("(\\d+) bytes spill stores");
    private static final Pattern REGISTERS = Pattern.compile("Used (\\d+) registers");

    private PtxCompiler() {}

    /**
     * A kernel as the compiler made it.
     *
     * @param registers of a thread
     * @param spilled bytes that a thread stores for want of registers
     */
    public record Compiled(int registers, int spilled) {}

    /** Compiles a kernel by JCuda's library to machine code. */
    static Sass sass(Kernel kernel, int architecture) {
        byte[] text = (kernel.ptx() + "\0").getBytes(StandardCharsets.US_ASCII);
        nvPTXCompilerHandle compiler = new nvPTXCompilerHandle();
        check(JNvPTXCompiler.nvPTXCompilerCreate(compiler, text.length, text), compiler);
        check(
                JNvPTXCompiler.nvPTXCompilerCompile(compiler, 1, new String[] {"--gpu-name=sm_" + architecture}),
                compiler);
        long[] size = new long[1];
        check(JNvPTXCompiler.nvPTXCompilerGetCompiledProgramSize(compiler, size), compiler);
        byte[] code = new byte[(int) size[0]];
        check(JNvPTXCompiler.nvPTXCompilerGetCompiledProgram(compiler, code), compiler);
        check(JNvPTXCompiler.nvPTXCompilerDestroy(compiler), compiler);
        return Sass.of(code);
    }

    public static void load() throws IOException {
        CudaLibrary.withOwnDirectory(() -> JNvPTXCompiler.setExceptionsEnabled(false));
    }

    /** Compiles kernels by JCuda's library, as one module, which takes less time. */
    public static Map<String, Compiled> compile(List<Kernel> kernels, int architecture) {
        byte[] text = (module(kernels) + "\0").getBytes(StandardCharsets.US_ASCII);
        nvPTXCompilerHandle compiler = new nvPTXCompilerHandle();
        check(JNvPTXCompiler.nvPTXCompilerCreate(compiler, text.length, text), compiler);
        check(
                JNvPTXCompiler.nvPTXCompilerCompile(
                        compiler, 2, new String[] {"--gpu-name=sm_" + architecture, "--verbose"}),
                compiler);
        long[] size = new long[1];
        check(JNvPTXCompiler.nvPTXCompilerGetInfoLogSize(compiler, size), compiler);
        byte[] log = new byte[(int) size[0] + 1];
        check(JNvPTXCompiler.nvPTXCompilerGetInfoLog(compiler, log), compiler);
        check(JNvPTXCompiler.nvPTXCompilerDestroy(compiler), compiler);
        return read(new String(log, StandardCharsets.US_ASCII));
    }

    /** Returns the program ptxas on the path, if there is one of CUDA 13. */
    public static Optional<Path> ptxas() {
        for (String folder : System.getenv().getOrDefault("PATH", "").split(":")) {
            Path program = Path.of(folder, "ptxas");
            if (!folder.isEmpty() && Files.isExecutable(program)) {
                return run(program, "--version").contains("release 13.") ? Optional.of(program) : Optional.empty();
            }
        }
        return Optional.empty();
    }

    /** Compiles kernels by the program, as one module. */
    public static Map<String, Compiled> compile(Path ptxas, List<Kernel> kernels, int architecture) throws IOException {
        Path source = Files.createTempFile("kernels", ".ptx");
        try {
            Files.writeString(source, module(kernels));
            return read(run(ptxas, "-arch=sm_" + architecture, "-v", "-o", "/dev/null", source.toString()));
        } finally {
            Files.delete(source);
        }
    }

    private static String run(Path program, String... arguments) {
        try {
            List<String> command = new ArrayList<>(List.of(program.toString()));
            command.addAll(List.of(arguments));
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                throw new AssertionError(command + ": " + output);
            }
            return output;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static String module(List<Kernel> kernels) {
        String head = kernels.getFirst().ptx().lines().limit(3).collect(Collectors.joining("\n", "", "\n"));
        return head
                + kernels.stream()
                        .map(kernel -> kernel.ptx().lines().skip(3).collect(Collectors.joining("\n", "", "\n")))
                        .collect(Collectors.joining());
    }

    private static Map<String, Compiled> read(String log) {
        Map<String, Compiled> compiled = new TreeMap<>();
        String name = "";
        int spilled = 0;
        for (String line : log.lines().toList()) {
            Matcher function = FUNCTION.matcher(line);
            Matcher spill = SPILL.matcher(line);
            Matcher registers = REGISTERS.matcher(line);
            if (function.find()) {
                name = function.group(1);
            }
            if (spill.find()) {
                spilled = Integer.parseInt(spill.group(1));
            }
            if (registers.find()) {
                compiled.put(name, new Compiled(Integer.parseInt(registers.group(1)), spilled));
            }
        }
        return compiled;
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
