package dev.banyan.cuda.emulator;

import static dev.banyan.cuda.emulator.EmulatedGpus.allocate;
import static dev.banyan.cuda.emulator.EmulatedGpus.enter;
import static dev.banyan.cuda.emulator.EmulatedGpus.function;
import static dev.banyan.cuda.emulator.EmulatedGpus.holding;
import static dev.banyan.cuda.emulator.EmulatedGpus.ints;
import static dev.banyan.cuda.emulator.EmulatedGpus.ok;
import static dev.banyan.cuda.emulator.EmulatedGpus.pinned;
import static dev.banyan.cuda.emulator.EmulatedGpus.reach;
import static dev.banyan.cuda.emulator.EmulatedGpus.recorded;
import static dev.banyan.cuda.emulator.EmulatedGpus.stream;
import static jcuda.driver.JCudaDriver.*;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.stream.IntStream;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The emulated driver finds each kind of missing order, and nothing where the order is complete. */
class InterleavingTest {
    private static final int SEEDS = 20;
    private static final String HEAD = ".version 7.0\n.target sm_70\n.address_size 64\n";

    private CudaEmulator emulator;

    @BeforeEach
    void load() {
        emulator = EmulatedGpus.driver();
    }

    /** Writes a value, then a flag; the second kernel waits for the flag and copies the value. */
    private static String messagePassing(String beforeFlag, String storeFlag, String loadFlag, String afterFlag) {
        return HEAD
                + """
                .visible .entry send(.param .u64 data, .param .u64 flag)
                {
                    .reg .b64 %rd<2>;
                    ld.param.u64 %rd0, [data];
                    ld.param.u64 %rd1, [flag];
                    st.global.u32 [%rd0], 42;
                    BEFORE
                    STORE [%rd1], 1;
                    ret;
                }
                .visible .entry receive(.param .u64 data, .param .u64 flag, .param .u64 result)
                {
                    .reg .pred %p<1>;
                    .reg .b32 %r<2>;
                    .reg .b64 %rd<3>;
                    ld.param.u64 %rd0, [data];
                    ld.param.u64 %rd1, [flag];
                    ld.param.u64 %rd2, [result];
                again:
                    LOAD %r0, [%rd1];
                    setp.ne.u32 %p0, %r0, 1;
                    @%p0 bra again;
                    AFTER
                    ld.global.u32 %r1, [%rd0];
                    st.global.u32 [%rd2], %r1;
                    ret;
                }
                """.replace("BEFORE", beforeFlag)
                        .replace("AFTER", afterFlag)
                        .replace("STORE", storeFlag)
                        .replace("LOAD", loadFlag);
    }

    private static Pointer parameters(CUdeviceptr... addresses) {
        return Pointer.to(Arrays.stream(addresses).map(Pointer::to).toArray(Pointer[]::new));
    }

    private static void launch(CUfunction function, CUstream stream, int threads, CUdeviceptr... addresses) {
        ok(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, stream, parameters(addresses), null));
    }

    /** Returns how many of the seeds gave a wrong value; the emulator counts the races. */
    private int passMessages(String ptx, boolean toAnotherDevice) {
        CUcontext first = enter(0);
        CUfunction send = function(ptx, "send");
        CUstream sends = stream();
        CUcontext second = enter(toAnotherDevice ? 1 : 0);
        CUfunction receive = function(ptx, "receive");
        CUstream receives = stream();
        CUdeviceptr data = allocate(4);
        CUdeviceptr flag = allocate(4);
        CUdeviceptr result = allocate(4);
        ok(cuCtxSetCurrent(first));
        if (toAnotherDevice) {
            reach(second);
        }
        int wrong = 0;
        for (int seed = 1; seed <= SEEDS; seed++) {
            ok(cuCtxSetCurrent(second));
            ok(cuMemsetD32(data, 0, 1));
            ok(cuMemsetD32(flag, 0, 1));
            ok(cuCtxSynchronize());
            emulator.tell("pause", "interleave " + seed);
            launch(receive, receives, 1, data, flag, result);
            ok(cuCtxSetCurrent(first));
            launch(send, sends, 1, data, flag);
            emulator.tell("resume");
            ok(cuStreamSynchronize(receives));
            ok(cuStreamSynchronize(sends));
            wrong += ints(result, 1)[0] == 42 ? 0 : 1;
        }
        return wrong;
    }

    @ParameterizedTest
    @CsvSource({
        "true, fence.acq_rel.sys;, st.relaxed.sys.global.u32, ld.relaxed.sys.global.u32, fence.acq_rel.sys;",
        "true, fence.acq_rel.sys;, st.volatile.global.u32, ld.volatile.global.u32, fence.acq_rel.sys;",
        "true, membar.sys;, st.volatile.global.u32, ld.acquire.sys.global.u32, ''",
        "true, '', st.release.sys.global.u32, ld.acquire.sys.global.u32, ''",
        "false, '', st.release.gpu.global.u32, ld.acquire.gpu.global.u32, ''",
        "false, fence.acq_rel.gpu;, st.relaxed.gpu.global.u32, ld.relaxed.gpu.global.u32, fence.acq_rel.gpu;",
        "false, membar.gl;, st.volatile.global.u32, ld.volatile.global.u32, membar.gl;",
    })
    void messagesThatAreOrderedArrive(
            boolean far, String beforeFlag, String storeFlag, String loadFlag, String afterFlag) {
        int wrong = passMessages(messagePassing(beforeFlag, storeFlag, loadFlag, afterFlag), far);
        assertThat(wrong).isZero();
        assertThat(emulator.count("races")).isZero();
        assertThat(emulator.problems()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        // No release.
        "true, '', st.relaxed.sys.global.u32, ld.acquire.sys.global.u32, '', true",
        "false, '', st.volatile.global.u32, ld.volatile.global.u32, membar.gl;, true",
        // No acquire.
        "true, '', st.release.sys.global.u32, ld.relaxed.sys.global.u32, '', false",
        // A scope that leaves out the other device.
        "true, '', st.release.gpu.global.u32, ld.acquire.sys.global.u32, '', true",
        "true, '', st.release.sys.global.u32, ld.acquire.gpu.global.u32, '', false",
        "true, fence.acq_rel.gpu;, st.relaxed.sys.global.u32, ld.relaxed.sys.global.u32, fence.acq_rel.sys;, true",
        "true, fence.acq_rel.sys;, st.relaxed.sys.global.u32, ld.relaxed.sys.global.u32, fence.acq_rel.gpu;, false",
        // A scope that leaves out the other block of the device.
        "false, fence.acq_rel.cta;, st.relaxed.gpu.global.u32, ld.relaxed.gpu.global.u32, fence.acq_rel.gpu;, false",
        // A flag that is no flag.
        "true, fence.acq_rel.sys;, st.global.u32, ld.volatile.global.u32, fence.acq_rel.sys;, false",
    })
    void messagesWithoutOrderAreFound(
            boolean far, String beforeFlag, String storeFlag, String loadFlag, String afterFlag, boolean showsItself) {
        int wrong = passMessages(messagePassing(beforeFlag, storeFlag, loadFlag, afterFlag), far);
        assertThat(emulator.count("races")).isPositive();
        assertThat(emulator.problems()).allMatch(problem -> problem.startsWith("a race at "));
        if (showsItself) {
            assertThat(wrong).as("seeds whose value came after the flag").isPositive();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "fence.acq_rel.sys;, st.relaxed.sys.global.u32, true",
        "'', st.release.sys.global.u32, true",
        "fence.acq_rel.gpu;, st.relaxed.sys.global.u32, false",
        "'', st.volatile.global.u32, false",
    })
    void theHostKnowsWhatAWordReleases(String beforeFlag, String storeFlag, boolean complete) {
        enter(0);
        CUfunction send = function(messagePassing(beforeFlag, storeFlag, "ld.global.u32", ""), "send");
        CUdeviceptr data = allocate(4);
        Pointer pointer = new Pointer();
        MemorySegment word = MemorySegment.ofBuffer(pinned(pointer, 4));
        CUdeviceptr flag = new CUdeviceptr();
        ok(cuMemHostGetDevicePointer(flag, pointer, 0));
        for (int seed = 1; seed <= SEEDS; seed++) {
            word.fill((byte) 0);
            emulator.tell("interleave " + seed);
            launch(send, stream(), 1, data, flag);
            while ((int) ValueLayout.JAVA_INT.varHandle().getAcquire(word, 0L) == 0) {
                Thread.onSpinWait();
            }
            ok(cuMemsetD32Async(data, 7, 1, stream()));
            ok(cuCtxSynchronize());
        }
        assertThat(emulator.count("races") > 0).isEqualTo(!complete);
    }

    /** Each thread writes a word and reads its neighbour's. */
    private static String neighbours(String space, String order) {
        return HEAD
                + """
                .visible .entry neighbours(.param .u64 words, .param .u64 result)
                {
                    .reg .b32 %r<4>;
                    .reg .b64 %rd<6>;
                    .shared .align 4 .b8 local[1024];
                    ld.param.u64 %rd0, [words];
                    ld.param.u64 %rd1, [result];
                    PLACE
                    mov.u32 %r0, %tid.x;
                    xor.b32 %r1, %r0, 1;
                    mad.wide.u32 %rd2, %r0, 4, %rd0;
                    mad.wide.u32 %rd3, %r1, 4, %rd0;
                    mad.wide.u32 %rd4, %r0, 4, %rd1;
                    st.SPACE.u32 [%rd2], %r0;
                    ORDER
                    ld.SPACE.u32 %r2, [%rd3];
                    st.global.u32 [%rd4], %r2;
                    ret;
                }
                """.replace("PLACE", space.equals("shared") ? "mov.u64 %rd0, local;" : "")
                        .replace("SPACE", space)
                        .replace("ORDER", order);
    }

    @ParameterizedTest
    @CsvSource({
        "global, bar.sync 0;, true",
        "shared, bar.sync 0;, true",
        "global, '', false",
        "shared, '', false",
        "shared, bar.warp.sync 0xffffffff;, true"
    })
    void barriersOrderTheThreadsOfABlock(String space, String order, boolean complete) {
        enter(0);
        CUfunction function = function(neighbours(space, order), "neighbours");
        CUdeviceptr words = allocate(256);
        CUdeviceptr result = allocate(256);
        for (int seed = 1; seed <= SEEDS; seed++) {
            emulator.tell("interleave " + seed);
            launch(function, stream(), 64, words, result);
            ok(cuCtxSynchronize());
            if (complete) {
                assertThat(ints(result, 64))
                        .isEqualTo(IntStream.range(0, 64).map(i -> i ^ 1).toArray());
            }
        }
        assertThat(emulator.count("races") > 0).isEqualTo(!complete);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void eventsOrderStreams(boolean waits) {
        enter(0);
        CUdeviceptr from = holding(1, 2, 3);
        CUdeviceptr middle = allocate(12);
        CUdeviceptr to = allocate(12);
        ok(cuCtxSynchronize());
        for (int seed = 1; seed <= SEEDS; seed++) {
            ok(cuMemsetD8(middle, (byte) 0, 12));
            ok(cuCtxSynchronize());
            emulator.tell("pause", "interleave " + seed);
            CUstream first = stream();
            CUstream second = stream();
            ok(cuMemcpyDtoDAsync(middle, from, 12, first));
            if (waits) {
                ok(cuStreamWaitEvent(second, recorded(first), 0));
            }
            ok(cuMemcpyDtoDAsync(to, middle, 12, second));
            emulator.tell("resume");
            ok(cuCtxSynchronize());
            if (waits) {
                assertThat(ints(to, 3)).containsExactly(1, 2, 3);
            }
        }
        assertThat(emulator.count("races") > 0).isEqualTo(!waits);
    }

    /** A read that finds the flag may write it at will: the release comes before. */
    @Test
    void aReleaseIsPartOfWhatItReleases() {
        passMessages(
                messagePassing(
                        "", "st.release.sys.global.u32", "ld.acquire.sys.global.u32", "st.global.u32 [%rd1], 0;"),
                true);
        assertThat(emulator.count("races")).isZero();
    }

    /** Whatever comes first, and though the last write is ordered after the one before. */
    @ParameterizedTest
    @CsvSource({
        "st.global.u32 [%rd1] 0;, st.relaxed.sys.global.u32",
        "st.relaxed.sys.global.u32 [%rd1] 0;, st.global.u32",
    })
    void aFlagThatIsAlsoWrittenWeaklyIsFound(String before, String after) {
        String ptx = messagePassing(
                before.replace("] ", "], "), after, "ld.relaxed.sys.global.u32", "fence.acq_rel.sys; ret;");
        enter(1);
        for (int seed = 1; seed <= SEEDS; seed++) {
            long races = emulator.count("races");
            passOne(ptx, seed);
            assertThat(emulator.count("races")).as("seed %d", seed).isGreaterThan(races);
        }
    }

    private void passOne(String ptx, int seed) {
        CUcontext second = enter(1);
        CUfunction receive = function(ptx, "receive");
        CUstream receives = stream();
        CUdeviceptr data = allocate(4);
        CUdeviceptr flag = allocate(4);
        CUdeviceptr result = allocate(4);
        ok(cuMemsetD32(flag, 1, 1));
        ok(cuCtxSynchronize());
        CUcontext first = enter(0);
        if (seed == 1) {
            reach(second);
        }
        CUfunction send = function(ptx, "send");
        CUstream sends = stream();
        emulator.tell("pause", "interleave " + seed);
        launch(send, sends, 1, data, flag);
        ok(cuCtxSetCurrent(second));
        launch(receive, receives, 1, data, flag, result);
        emulator.tell("resume");
        ok(cuStreamSynchronize(receives));
        ok(cuCtxSetCurrent(first));
        ok(cuStreamSynchronize(sends));
    }

    /** Each command to interleave begins without the history of the one before. */
    @Test
    void everySeedBeginsAnew() {
        enter(0);
        CUdeviceptr from = holding(1, 2, 3);
        CUdeviceptr to = allocate(12);
        CUstream first = stream();
        CUstream second = stream();
        for (int seed = 1; seed <= SEEDS; seed++) {
            ok(cuMemcpyDtoDAsync(from, from, 12, first));
            ok(cuStreamWaitEvent(second, recorded(first), 0));
            ok(cuCtxSynchronize());
            long races = emulator.count("races");
            emulator.tell("pause", "interleave " + seed);
            ok(cuMemcpyDtoDAsync(to, from, 12, first));
            ok(cuMemcpyDtoDAsync(to, from, 12, second));
            emulator.tell("resume");
            ok(cuCtxSynchronize());
            assertThat(emulator.count("races")).as("seed %d", seed).isGreaterThan(races);
            emulator.tell("interleave 0");
        }
    }

    @Test
    void anEventOrdersNothingButWhatIsBeforeIt() {
        enter(0);
        CUdeviceptr from = holding(1, 2, 3);
        CUdeviceptr middle = allocate(12);
        CUdeviceptr to = allocate(12);
        for (int seed = 1; seed <= SEEDS; seed++) {
            ok(cuCtxSynchronize());
            long races = emulator.count("races");
            emulator.tell("pause", "interleave " + seed);
            CUstream reader = stream();
            ok(cuMemcpyDtoDAsync(middle, from, 12, stream()));
            ok(cuStreamWaitEvent(reader, recorded(stream()), 0));
            ok(cuMemcpyDtoDAsync(to, middle, 12, reader));
            emulator.tell("resume");
            ok(cuCtxSynchronize());
            assertThat(emulator.count("races")).as("seed %d", seed).isGreaterThan(races);
        }
    }

    /** Though nobody has asked for the event since. */
    @Test
    void anEventThatIsDoneOrders() {
        enter(0);
        CUdeviceptr from = holding(1, 2, 3);
        CUdeviceptr middle = allocate(12);
        CUdeviceptr to = allocate(12);
        ok(cuCtxSynchronize());
        emulator.tell("interleave 1");
        CUstream first = stream();
        CUstream second = stream();
        ok(cuMemcpyDtoDAsync(middle, from, 12, first));
        CUevent event = recorded(first);
        while (emulator.count("copies") < 2) {
            Thread.onSpinWait();
        }
        ok(cuStreamWaitEvent(second, event, 0));
        ok(cuMemcpyDtoDAsync(to, middle, 12, second));
        ok(cuCtxSynchronize());
        assertThat(emulator.count("races")).isZero();
    }

    /** Each thread gives whether it is one of the first, and learns whether one or all are. */
    private static String votes(String kind) {
        return HEAD + """
            .visible .entry votes(.param .u64 result, .param .u64 first)
            {
                .reg .pred %p<2>;
                .reg .b32 %r<3>;
                .reg .b64 %rd<3>;
                ld.param.u64 %rd0, [result];
                ld.param.u64 %rd1, [first];
                mov.u32 %r0, %tid.x;
                cvt.u32.u64 %r1, %rd1;
                setp.lt.u32 %p0, %r0, %r1;
                bar.red.KIND.pred %p1, 1, 96, %p0;
                selp.u32 %r2, 1, 0, %p1;
                mad.wide.u32 %rd2, %r0, 4, %rd0;
                st.global.u32 [%rd2], %r2;
                bar.red.KIND.pred %p1, 1, %p1;
                @!%p1 st.global.u32 [%rd2], 2;
                ret;
            }
            """.replace("KIND", kind);
    }

    @ParameterizedTest
    @CsvSource({"or, 0, 2", "or, 1, 1", "or, 96, 1", "and, 95, 2", "and, 96, 1"})
    void barriersReducePredicates(String kind, long first, int expected) {
        enter(0);
        CUfunction function = function(votes(kind), "votes");
        CUdeviceptr result = allocate(4 * 96);
        for (int seed = 0; seed <= SEEDS; seed++) {
            emulator.tell("interleave " + seed);
            Pointer parameters = Pointer.to(Pointer.to(result), Pointer.to(new long[] {first}));
            ok(cuLaunchKernel(function, 1, 1, 1, 96, 1, 1, 0, null, parameters, null));
            ok(cuCtxSynchronize());
            assertThat(ints(result, 96)).containsOnly(expected);
        }
        assertThat(emulator.problems()).isEmpty();
    }

    @Test
    void aBarrierReducesForAllOrForNobody() {
        enter(0);
        String ptx = HEAD + """
            .visible .entry halves()
            {
                .reg .pred %p<1>;
                .reg .b32 %r<1>;
                mov.u32 %r0, %tid.x;
                setp.lt.u32 %p0, %r0, 32;
                @%p0 bra low;
                bar.sync 1, 64;
                ret;
            low:
                bar.red.or.pred %p0, 1, 64, %p0;
                ret;
            }
            """;
        ok(cuLaunchKernel(function(ptx, "halves"), 1, 1, 1, 64, 1, 1, 0, null, Pointer.to(new Pointer[0]), null));
        EmulatedGpus.fails(cuCtxSynchronize(), CUresult.CUDA_ERROR_LAUNCH_FAILED);
        assertThat(emulator.problems()).singleElement().asString().contains("bar.red and another instruction");
    }

    @Test
    void countersWrapAround() {
        enter(0);
        String ptx = HEAD + """
            .visible .entry count(.param .u64 counter, .param .u64 result)
            {
                .reg .b32 %r<2>;
                .reg .b64 %rd<3>;
                ld.param.u64 %rd0, [counter];
                ld.param.u64 %rd1, [result];
                atom.relaxed.gpu.global.inc.u32 %r0, [%rd0], 4;
                mov.u32 %r1, %tid.x;
                mad.wide.u32 %rd2, %r1, 4, %rd1;
                st.global.u32 [%rd2], %r0;
                ret;
            }
            """;
        CUfunction function = function(ptx, "count");
        CUdeviceptr counter = holding(0);
        CUdeviceptr result = allocate(28);
        launch(function, stream(), 7, counter, result);
        ok(cuCtxSynchronize());
        assertThat(ints(result, 7)).containsExactlyInAnyOrder(0, 1, 2, 3, 4, 0, 1);
        assertThat(ints(counter, 1)).containsExactly(2);
        EmulatedGpus.fails(
                cuModuleLoadData(new CUmodule(), ptx.replace("inc.u32", "inc.u64")), CUresult.CUDA_ERROR_INVALID_PTX);
    }

    /** bar.sync is aligned: on a GPU it is undefined what two of them in one warp do. */
    @Test
    void threadsOfAWarpTakeTheSameBarrier() {
        enter(0);
        String ptx = HEAD + """
            .visible .entry halves()
            {
                .reg .pred %p<1>;
                .reg .b32 %r<1>;
                mov.u32 %r0, %tid.x;
                setp.lt.u32 %p0, %r0, 16;
                @%p0 bra low;
                bar.sync 0;
                ret;
            low:
                bar.sync 0;
                ret;
            }
            """;
        ok(cuLaunchKernel(function(ptx, "halves"), 1, 1, 1, 32, 1, 1, 0, null, Pointer.to(new Pointer[0]), null));
        EmulatedGpus.fails(cuCtxSynchronize(), CUresult.CUDA_ERROR_LAUNCH_FAILED);
        assertThat(emulator.problems()).singleElement().asString().contains("by different instructions");
    }

    /** A kernel that faults, and a reset, in the middle of what a seed interleaves. */
    @Test
    void interleavedWorkMayFail() {
        String ptx = HEAD + """
            .visible .entry work(.param .u64 words, .param .u64 result)
            {
                .reg .pred %p<1>;
                .reg .b32 %r<1>;
                .reg .b64 %rd<2>;
                ld.param.u64 %rd0, [words];
                mov.u32 %r0, 0;
            again:
                st.global.u32 [%rd0], %r0;
                add.u32 %r0, %r0, 1;
                setp.lt.u32 %p0, %r0, 300;
                @%p0 bra again;
                TRAP
                ret;
            }
            """;
        for (int seed = 1; seed <= SEEDS; seed++) {
            emulator.reset();
            emulator.tell("pause", "interleave " + seed);
            for (int device = 0; device < 4; device++) {
                enter(device);
                CUdeviceptr words = allocate(4);
                CUfunction function = function(ptx.replace("TRAP", device % 2 == 0 ? "trap;" : ""), "work");
                launch(function, stream(), 1, words, words);
                launch(function, stream(), 1, words, words);
            }
            emulator.tell("resume");
            while (seed % 2 == 0 && emulator.count("steps") < 100L * seed) {
                Thread.onSpinWait();
            }
        }
        emulator.reset();
    }

    /** A copy of the default stream does not wait for a stream that does not block, nor does that wait for the copy. */
    @Test
    void theHostOrdersOnlyWhatItHasSeenToEnd() {
        enter(0);
        CUdeviceptr from = holding(1, 2, 3);
        CUdeviceptr to = allocate(12);
        ok(cuCtxSynchronize());
        emulator.tell("interleave 3");
        CUstream stream = stream();
        ok(cuMemcpyDtoDAsync(to, from, 12, stream));
        ok(cuStreamSynchronize(stream));
        CUstream fills = stream();
        ok(cuMemsetD8Async(to, (byte) 7, 12, fills));
        ok(cuStreamSynchronize(fills));
        assertThat(emulator.count("races")).isZero();
        emulator.tell("pause");
        ok(cuMemsetD8Async(to, (byte) 7, 12, fills));
        ok(cuMemcpyDtoDAsync(to, from, 12, stream()));
        emulator.tell("resume");
        ok(cuCtxSynchronize());
        assertThat(emulator.count("races")).isPositive();
    }
}
