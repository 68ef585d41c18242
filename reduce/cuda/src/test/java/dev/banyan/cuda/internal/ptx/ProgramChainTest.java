package dev.banyan.cuda.internal.ptx;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cuda.EmulatedProcess;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.internal.ptx.ProgramChain.Shape;
import dev.banyan.cuda.internal.ptx.ProgramLoop.Protocol;
import dev.banyan.cuda.internal.ptx.ProgramStatus.Code;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Blocks of several emulated GPUs that wait for each other: what they compute, how they stop, and seeded defects. */
class ProgramChainTest {
    private static final String LOOKS_AT_A_FLAG =
            "\\s+mov\\.b64 \\{%r\\d+, %r\\d+\\}, %rd\\d+;\\s+xor\\.b32[^;]*;\\s+or\\.b32[^;]*;";

    private static final int MEMORY = 1 << 20;
    private static final int SMALL_MEMORY = 1 << 14;
    private static final int SEEDS = 12;
    /** 50,000 steps of an interleaving, in ns by its clock. */
    private static final long STEPS = 1_000_000;

    private final CudaEmulator emulator = EmulatedProcess.begin();
    private final SplittableRandom random = new SplittableRandom(11);

    private ProgramChain chain(Shape shape) {
        return new ProgramChain(emulator, shape, MEMORY, random, UnaryOperator.identity());
    }

    @ParameterizedTest
    @CsvSource({
        "2, 1, 1000, 100, 1, BULK, 1",
        "2, 3, 5000, 1024, 2, BULK, 2",
        "4, 2, 1003, 64, 2, BULK, 1",
        "8, 3, 777, 32, 4, BULK, 2",
        "3, 1, 31, 4, 2, BULK, 1",
        "2, 1, 1000, 128, 8, LOW_LATENCY, 1",
        "4, 2, 1003, 512, 2, LOW_LATENCY, 2",
        "8, 3, 31, 32, 1, LOW_LATENCY, 1",
    })
    void chainsAddInOrder(
            int gpus, int lanes, int elements, int slice, int slots, Protocol protocol, int blocksPerLane) {
        ProgramChain chain = chain(new Shape(gpus, lanes, elements, slice, slots, 0, protocol, blocksPerLane));
        for (int workers : new int[] {32, 64, 512}) {
            chain.launchAll(workers, ProgramGpu.TIMEOUT);
            chain.launchAll(workers, ProgramGpu.TIMEOUT);
            chain.await();
            chain.check();
        }
    }

    // ---- Interleavings ----

    private static Shape small(Protocol protocol, int excess) {
        return protocol == Protocol.BULK
                ? new Shape(3, 1, 30, 8, 2, excess, protocol, 1)
                : new Shape(3, 1, 61, 16, 4, excess, protocol, 1);
    }

    /** Launches the kernel twice for each seed, and returns how many seeds end with a wrong sum or a race. */
    private int interleave(Shape shape, int seeds, UnaryOperator<String> defect) {
        int found = 0;
        for (int seed = 1; seed <= seeds; seed++) {
            ProgramChain chain = new ProgramChain(emulator, shape, SMALL_MEMORY, random, defect);
            emulator.tell("pause", "interleave " + seed);
            chain.launchAll(64, STEPS);
            chain.launchAll(64, STEPS);
            emulator.tell("resume");
            chain.await();
            boolean right = chain.isRight();
            found += right && emulator.count("races") == 0 ? 0 : 1;
            assertThat(emulator.problems()).allMatch(problem -> problem.startsWith("a race at "));
        }
        return found;
    }

    @ParameterizedTest
    @CsvSource({
        "3, 1, 30, 8, 2, BULK, 1",
        "3, 1, 17, 4, 1, BULK, 2",
        "2, 1, 150, 144, 1, BULK, 1",
        "3, 1, 11, 8, 2, LOW_LATENCY, 1",
        "3, 1, 5, 4, 2, LOW_LATENCY, 2",
        "2, 2, 12, 4, 2, BULK, 2",
    })
    void noInterleavingIsWrong(
            int gpus, int lanes, int elements, int slice, int slots, Protocol protocol, int blocksPerLane) {
        Shape shape = new Shape(gpus, lanes, elements, slice, slots, 0, protocol, blocksPerLane);
        assertThat(interleave(shape, SEEDS, UnaryOperator.identity())).isZero();
    }

    // ---- Early stops ----

    /** All blocks of the other GPUs end, and one of each says what it waits for. */
    @ParameterizedTest
    @EnumSource(Protocol.class)
    void aGpuThatIsMissingEndsInATimeout(Protocol protocol) {
        ProgramChain chain = chain(new Shape(3, 2, 64, 32, 2, 0, protocol, 2));
        long timeout = 20_000_000;
        chain.launch(0, 64, timeout);
        chain.launch(2, 64, timeout);
        chain.await();
        for (int g : new int[] {0, 2}) {
            List<ProgramStatus> stopped = stopped(chain, g);
            assertThat(stopped).hasSize(chain.blocksOf(g)).anyMatch(status -> status.code() == Code.TIMEOUT);
            assertThat(chain.gpu(g).done()).isZero();
            assertThat(chain.gpu(g).control.getInt(ProgramStatus.ABORT)).isEqualTo(1);
            for (ProgramStatus status : stopped) {
                assertThat(status.loop()).isIn(2 * g, 2 * g + 1);
                assertThat(status.slice()).isZero();
                assertThat(status.seen()).isNotEqualTo(status.wanted());
            }
        }
        assertThat(emulator.problems()).isEmpty();
    }

    private static List<ProgramStatus> stopped(ProgramChain chain, int gpu) {
        return IntStream.range(0, chain.blocksOf(gpu))
                .mapToObj(block -> chain.gpu(gpu).status(block))
                .filter(status -> status.code() != Code.NONE)
                .toList();
    }

    /** The first GPU sends slices 0 and 1, for which it needs no credits, and waits for the first credit. */
    @Test
    void theStatusNamesWhatIsMissing() {
        ProgramChain chain = chain(new Shape(2, 1, 64, 8, 2, 0, Protocol.BULK, 1));
        chain.ready(0, 1);
        chain.launch(0, 32, 1_000_000);
        chain.await();
        long base = chain.base();
        assertThat(chain.gpu(0).status(0)).isEqualTo(new ProgramStatus(Code.TIMEOUT, 0, 2, 0, base, base + 1));
    }

    @ParameterizedTest
    @EnumSource(Protocol.class)
    void theAbortWordEndsAllBlocks(Protocol protocol) {
        ProgramChain chain = chain(new Shape(2, 2, 64, 32, 2, 0, protocol, 2));
        assertThat(codesAfterAbort(chain, ProgramGpu.TIMEOUT))
                .hasSize(chain.blocksOf(0))
                .containsOnly(Code.ABORTED);
        assertThat(chain.gpu(0).done()).isZero();
    }

    private static List<Code> codesAfterAbort(ProgramChain chain, long timeout) {
        chain.launch(0, 64, timeout);
        chain.gpu(0).control.putInt(ProgramStatus.ABORT, 1);
        chain.await();
        return stopped(chain, 0).stream().map(ProgramStatus::code).toList();
    }

    @ParameterizedTest
    @EnumSource(Protocol.class)
    void blocksStopInAllInterleavings(Protocol protocol) {
        for (int seed = 1; seed <= SEEDS; seed++) {
            ProgramChain chain =
                    new ProgramChain(emulator, small(protocol, 0), SMALL_MEMORY, random, UnaryOperator.identity());
            emulator.tell("pause", "interleave " + seed);
            chain.launch(0, 32, 1_000);
            chain.launch(2, 32, 1_000);
            emulator.tell("resume");
            chain.await();
            assertThat(stopped(chain, 0)).hasSize(1);
            assertThat(stopped(chain, 2)).hasSize(1);
        }
        assertThat(emulator.count("races")).isZero();
        assertThat(emulator.problems()).isEmpty();
    }

    // ---- Seeded defects ----

    /** The defects that are planted into the kernel's text. */
    enum Defect {
        WAITS_WITHOUT_ACQUIRE(Protocol.BULK, "ld\\.acquire\\.sys\\.global\\.u64", "ld.relaxed.sys.global.u64"),
        WAITS_FOR_ITS_GPU(Protocol.BULK, "ld\\.acquire\\.sys\\.global\\.u64", "ld.acquire.gpu.global.u64"),
        WAITS_FOR_ITS_BLOCK(Protocol.BULK, "ld\\.acquire\\.sys\\.global\\.u64", "ld.acquire.cta.global.u64"),
        NO_FENCE_BEFORE_POSTING(Protocol.BULK, "@%p\\d+ fence\\.acq_rel\\.sys;(\\s+@%p\\d+ st\\.relaxed)", "$1"),
        POSTS_FENCE_FOR_ITS_GPU(Protocol.BULK, "(@%p\\d+ fence\\.acq_rel\\.)sys(;\\s+@%p\\d+ st\\.relaxed)", "$1gpu$2"),
        POSTS_FOR_ITS_GPU(Protocol.BULK, "(@%p\\d+ st\\.relaxed\\.)sys(\\.global\\.u64)", "$1gpu$2"),
        POSTS_BEFORE_THE_BARRIER(Protocol.BULK, "(\\$post_slice\\d+:\\s+)((?:.*\\n){3})((?:.*\\n){3})", "$1$3$2"),
        ONE_FLAG_OF_A_LINE(Protocol.LOW_LATENCY, "(" + LOOKS_AT_A_FLAG + ")" + LOOKS_AT_A_FLAG, "$1"),
        LINES_IN_FOUR_PARTS(
                Protocol.LOW_LATENCY,
                "st\\.volatile\\.global\\.v2\\.u64 \\[(%rd\\d+)\\+(\\d+)\\], \\{(%rd\\d+), (%rd\\d+)\\};",
                "{ .reg .b32 %a<4>; mov.b64 {%a0, %a1}, $3; mov.b64 {%a2, %a3}, $4;"
                        + " st.volatile.global.v4.u32 [$1+$2], {%a0, %a1, %a2, %a3}; }");

        private final Protocol protocol;
        private final Pattern from;
        private final String to;

        Defect(Protocol protocol, String from, String to) {
            this.protocol = protocol;
            this.from = Pattern.compile(from);
            this.to = to;
        }

        String in(String ptx) {
            String changed = from.matcher(ptx).replaceAll(to);
            assertThat(changed).as("the text with %s", this).isNotEqualTo(ptx);
            return changed;
        }
    }

    @ParameterizedTest
    @EnumSource(Defect.class)
    void defectsAreFound(Defect defect) {
        assertThat(interleave(small(defect.protocol, 0), SEEDS, defect::in)).isGreaterThan(SEEDS / 4);
    }

    @Test
    void aCreditTooMuchIsFound() {
        assertThat(interleave(small(Protocol.BULK, 1), SEEDS, UnaryOperator.identity()))
                .isGreaterThan(SEEDS / 4);
    }

    @ParameterizedTest
    @EnumSource(Protocol.class)
    void anAbortWordThatIsNotReadIsFound(Protocol protocol) {
        Shape shape = new Shape(2, 2, 64, 32, 2, 0, protocol, 2);
        UnaryOperator<String> defect =
                ptx -> ptx.replaceAll("ld\\.relaxed\\.sys\\.global\\.u32 (%r\\d+), .*;", "mov.u32 $1, 0;");
        ProgramChain chain = new ProgramChain(emulator, shape, MEMORY, random, defect);
        assertThat(codesAfterAbort(chain, 20_000_000))
                .hasSize(chain.blocksOf(0))
                .containsOnly(Code.TIMEOUT);
    }
}
