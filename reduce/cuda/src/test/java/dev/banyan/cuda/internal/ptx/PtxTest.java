package dev.banyan.cuda.internal.ptx;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.reduce.internal.sum.SumPass;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.IntSummaryStatistics;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Every kernel is compiled by NVIDIA's compilers, which need no GPU; programs may not spill registers. The emulated
 * GPUs run as many blocks at once as real ones, as they know the registers of programs from a table, which is compared
 * here: of sm_70 with JCuda's compiler, as CUDA 13 has none for it, and of the others with ptxas of CUDA 13, where it
 * is found.
 */
class PtxTest {
    /** The architectures of the emulator's table of registers. */
    private static final List<Integer> ARCHITECTURES = List.of(70, 80, 90, 100);

    /** The operations of programs. */
    private static final List<ReduceOp> OPS =
            Stream.of(ReduceOp.values()).filter(op -> op != ReduceOp.AVG).toList();

    /** In the loop of a sum of two inputs. */
    private static final int MOST_INSTRUCTIONS = 110;

    private static final Pattern ROW = Pattern.compile("\\{\"(\\w+)\", \\{(\\d+), (\\d+), (\\d+), (\\d+)}},");

    @BeforeAll
    static void load() throws IOException {
        PtxCompiler.load();
    }

    @ParameterizedTest
    @CsvSource({"2, 0, 70", "3, 1, 90"})
    void kernelsCompileFor(int sources, int first, int architecture) {
        compile(every(2, first, kernels(sources, sources)), architecture);
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
        List<Kernel> all = kernels(8, 8);
        // One kernel of most elements, by all operations in turn.
        compile(every(OPS.size() + 1, 0, all.subList(0, OPS.size() * Element.values().length)), 70);
    }

    /** A program of each element, by operations in turn: every second one for each architecture. */
    @ParameterizedTest
    @CsvSource({"0, 70", "1, 90"})
    void programKernelsCompileFor(int first, int architecture) {
        List<Kernel> all = Stream.of(Element.values())
                .<Kernel>map(element -> new Kernel.Program(
                        element == Element.I128 ? ReduceOp.SUM : OPS.get(element.ordinal() % OPS.size()), element))
                .toList();
        compile(every(2, first, all), architecture);
    }

    /** Returns some of the kernels, a step apart. */
    private static List<Kernel> every(int step, int first, List<Kernel> all) {
        return IntStream.range(0, all.size())
                .filter(i -> i % step == first)
                .mapToObj(all::get)
                .toList();
    }

    /** By loops of their own for 2, 3, 4 and 8 inputs; two words of each input at once, but one of eight. */
    @ParameterizedTest
    @ValueSource(ints = {70, 90})
    void sumsLoadAllInputsBeforeTheyAdd(int architecture) {
        checkSums(architecture);
    }

    @Tag("soak")
    @Test
    void sumsOfAmpereLoadAllInputsBeforeTheyAdd() {
        checkSums(80);
    }

    private static void checkSums(int architecture) {
        String code = PtxCompiler.sass(new Kernel.Program(ReduceOp.SUM, Element.F32), architecture)
                .operations();
        String accesses = code.replaceAll("[.B]", "");
        assertThat(accesses).contains("LLLL" + "A".repeat(8) + "S");
        assertThat(accesses).contains("LLLLLL" + "A".repeat(16) + "S");
        assertThat(accesses).contains("LLLLLLLL" + "A".repeat(24) + "S");
        assertThat(accesses).contains("LLLLLLLL" + "A".repeat(28) + "S");
        // From the branch out of the loop to the branch back, behind that of the loop over outputs.
        Matcher loop = Pattern.compile("B([^BLAS]*(L\\.*){4}(A\\.*){8}(S\\.*){2}B[^BS]*B[^BS]*)B")
                .matcher(code);
        assertThat(loop.find()).isTrue();
        assertThat(loop.group(1)).hasSizeLessThanOrEqualTo(MOST_INSTRUCTIONS);
    }

    /** ptxas of another release may allot other registers; no release spills any of these. */
    @Tag("soak")
    @ParameterizedTest
    @ValueSource(ints = {75, 80, 86, 89, 90, 100, 120})
    void programsSpillNothingByPtxas(int architecture) throws IOException {
        Optional<Path> ptxas = PtxCompiler.ptxas();
        if (ptxas.isPresent()) {
            PtxCompiler.compile(ptxas.get(), programs(), architecture)
                    .forEach((name, one) -> assertThat(one.spilled()).as(name).isZero());
        }
    }

    @Test
    void emulatedGpusKnowTheRegistersOfPrograms() throws IOException {
        checkRegisters(
                List.of(
                        new Kernel.Program(ReduceOp.SUM, Element.F32),
                        new Kernel.Program(ReduceOp.SUM, Element.BF16),
                        new Kernel.Program(ReduceOp.MAX, Element.F16),
                        new Kernel.Program(ReduceOp.MAX, Element.U8)),
                ARCHITECTURES.size());
        assertThat(registers().keySet())
                .containsExactlyInAnyOrderElementsOf(
                        programs().stream().map(Kernel::name).toList());
    }

    @Tag("soak")
    @Test
    void emulatedGpusKnowTheRegistersOfAllPrograms() throws IOException {
        checkRegisters(programs(), 1);
    }

    @Test
    void theDocumentNamesTheRegisters() throws IOException {
        IntSummaryStatistics all = registers().values().stream()
                .flatMap(List::stream)
                .mapToInt(Integer::intValue)
                .summaryStatistics();
        assertThat(Files.readString(emulator().resolve("../../docs/gpu.md")))
                .contains("takes " + all.getMin() + " to " + all.getMax() + " registers");
    }

    private static Path emulator() {
        return Path.of(Objects.requireNonNull(System.getProperty("banyan.cuda.emulator")));
    }

    /** @param step every how many kernels an architecture compiles; each begins with another one */
    private static void checkRegisters(List<Kernel> all, int step) throws IOException {
        Map<String, List<Integer>> known = registers();
        Map<String, List<Integer>> compiled = new TreeMap<>();
        Optional<Path> ptxas = PtxCompiler.ptxas();
        for (int a = 0; a < ARCHITECTURES.size(); a++) {
            int architecture = ARCHITECTURES.get(a);
            List<Kernel> kernels = every(step, a % step, all);
            Map<String, PtxCompiler.Compiled> made = architecture == 70
                    ? PtxCompiler.compile(kernels, architecture)
                    : ptxas.isPresent() ? PtxCompiler.compile(ptxas.get(), kernels, architecture) : Map.of();
            for (Kernel kernel : all) {
                PtxCompiler.Compiled one = made.get(kernel.name());
                compiled.computeIfAbsent(kernel.name(), _ -> new ArrayList<>())
                        .add(
                                one == null
                                        ? Objects.requireNonNull(known.get(kernel.name()))
                                                .get(a)
                                        : (Integer) one.registers());
            }
        }
        StringBuilder rows = new StringBuilder("write these rows:\n");
        compiled.forEach((name, registers) -> rows.append("    {\"")
                .append(name)
                .append("\", {")
                .append(registers.stream().map(String::valueOf).collect(Collectors.joining(", ")))
                .append("}},\n"));
        Map<String, List<Integer>> expected = new TreeMap<>(known);
        expected.keySet().retainAll(compiled.keySet());
        assertThat(compiled).as(rows.toString()).isEqualTo(expected);
    }

    /** Returns the registers of a thread of each program, for each architecture, by the emulator's table. */
    private static Map<String, List<Integer>> registers() throws IOException {
        Path table = emulator().resolve("src/main/native/registers.inc");
        Map<String, List<Integer>> registers = new TreeMap<>();
        ROW.matcher(Files.readString(table))
                .results()
                .forEach(row -> registers.put(
                        row.group(1),
                        IntStream.rangeClosed(2, 5)
                                .mapToObj(group -> Integer.valueOf(row.group(group)))
                                .toList()));
        return registers;
    }

    @Test
    void namesDiffer() {
        List<String> names = Stream.concat(kernels(2, 16).stream(), programs().stream())
                .map(Kernel::name)
                .toList();
        assertThat(names).doesNotHaveDuplicates().allMatch(name -> name.matches("banyan_[a-z0-9_]+"));
    }

    private static void compile(List<Kernel> kernels, int architecture) {
        Map<String, PtxCompiler.Compiled> compiled = PtxCompiler.compile(kernels, architecture);
        assertThat(compiled).hasSize(kernels.size());
        compiled.keySet().removeIf(name -> !name.startsWith("banyan_program"));
        compiled.forEach((name, one) -> assertThat(one.spilled()).as(name).isZero());
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
}
