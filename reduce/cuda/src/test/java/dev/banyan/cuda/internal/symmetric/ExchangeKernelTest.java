package dev.banyan.cuda.internal.symmetric;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cuda.internal.ptx.Element;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.internal.ptx.PtxCompiler;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * NVIDIA's compilers take the kernels. None spills registers, but a few for reproducible sums of 14 to 16
 * ranks.
 */
class ExchangeKernelTest {
    @BeforeAll
    static void load() throws IOException {
        PtxCompiler.load();
    }

    @ParameterizedTest
    @CsvSource({"70, F32, I8", "90, F32, BF16"})
    void sumsCompileFor(int architecture, Element one, Element other) {
        check(PtxCompiler.compile(
                Stream.of(one, other)
                        .<Kernel>map(element -> new ExchangeKernel(ReduceOp.SUM, element, false))
                        .toList(),
                architecture));
    }

    @ParameterizedTest
    @CsvSource({"70, F64, 16", "90, BF16, 16", "90, F32, 8"})
    void reproducibleSumsCompileFor(int architecture, DataType type, int ranks) {
        check(PtxCompiler.compile(List.of(new SumKernel(type, ranks)), architecture));
    }

    @Tag("soak")
    @ParameterizedTest
    @ValueSource(ints = {70, 80, 90})
    void allReproducibleSumsCompileFor(int architecture) {
        check(PtxCompiler.compile(
                Stream.of(DataType.values())
                        .filter(DataType::isFloating)
                        .flatMap(type ->
                                IntStream.rangeClosed(2, 16).<Kernel>mapToObj(ranks -> new SumKernel(type, ranks)))
                        .toList(),
                architecture));
    }

    /** JCuda's compiler does not know these instructions. */
    @Test
    void multicastsCompileByPtxas() throws IOException {
        Optional<Path> ptxas = PtxCompiler.ptxas();
        if (ptxas.isPresent()) {
            check(PtxCompiler.compile(
                    ptxas.get(),
                    Stream.of(Element.BF16, Element.I64)
                            .<Kernel>map(element -> new ExchangeKernel(ReduceOp.SUM, element, true))
                            .toList(),
                    90));
        }
    }

    @Tag("soak")
    @ParameterizedTest
    @ValueSource(ints = {75, 80, 90, 100, 103, 120})
    void allCompileByPtxasFor(int architecture) throws IOException {
        Optional<Path> ptxas = PtxCompiler.ptxas();
        if (ptxas.isPresent()) {
            check(PtxCompiler.compile(ptxas.get(), all(false), architecture));
            if (architecture >= 90) {
                check(PtxCompiler.compile(ptxas.get(), all(true), architecture));
            }
        }
    }

    @Tag("soak")
    @ParameterizedTest
    @ValueSource(ints = {70, 80, 90})
    void allCompileFor(int architecture) {
        check(PtxCompiler.compile(all(false), architecture));
    }

    private static void check(Map<String, PtxCompiler.Compiled> compiled) {
        assertThat(compiled).isNotEmpty();
        compiled.forEach((name, one) -> {
            assertThat(one.spilled()).as(name).isLessThanOrEqualTo(name.matches(".*_1[4-6]") ? 64 : 0);
            assertThat(one.registers()).as(name).isLessThanOrEqualTo(128);
        });
    }

    private static List<Kernel> all(boolean multicast) {
        return Stream.of(Element.values())
                .filter(element -> element != Element.I128)
                .flatMap(element -> Stream.of(ReduceOp.values())
                        .filter(op -> op != ReduceOp.AVG)
                        .<Kernel>map(op -> new ExchangeKernel(op, element, multicast)))
                .toList();
    }
}
