package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.type.Collective;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Each call of the driver fails once from the allocation of buffers, with multicast addresses, until the end of a
 * collective: the result is right all the same, or there is an exception, and nothing is left.
 */
class ExchangeFaultTest {
    private static final List<String> SHARED_MEMORY =
            List.of("cuMemCreate", "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess", "cuMemRelease");
    private static final List<String> MULTICASTS =
            List.of("cuMulticastCreate", "cuMulticastAddDevice", "cuMulticastBindAddr");
    private static final List<String> OTHERS = List.of(
            "cuCtxPushCurrent",
            "cuCtxSetCurrent",
            "cuDeviceGetAttribute",
            "cuEventRecord",
            "cuLaunchKernel",
            "cuMemAlloc",
            "cuMemHostAlloc",
            "cuMemsetD8Async",
            "cuMemcpyHtoDAsync",
            "cuModuleGetFunction",
            "cuModuleLoadDataEx",
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            "cuPointerGetAttribute");

    private final CudaEmulator emulator = EmulatedProcess.begin();
    private int refused;
    private int withoutTheSwitch;

    private int[] ofRanks = {};

    @Test
    void everyFailingCallOfSharedMemoryIsMet() {
        failEach(3, 3000, 2, List.of());
    }

    @Test
    void everyFailingCallOfMemoryOfOneGpuIsMet() {
        failEachOfShared(3000, 2, SHARED_MEMORY, 0, 0);
    }

    /** Two devices do without the switch. */
    @Test
    void everyFailingCallOfMemoryOfTwoGpusIsMet() {
        failEachOfShared(3000, 2, SHARED_MEMORY, 0, 1);
    }

    @Test
    @Tag("soak")
    void everyFailingCallOfSharedGpusIsMet() {
        // Without the switch, nothing is asked of a device.
        List<String> others = OTHERS.stream()
                .filter(function -> !function.equals("cuDeviceGetAttribute"))
                .toList();
        failEachOfShared(3000, 2, others, 0, 0, 0, 0);
        failEachOfShared(600000, 2, SHARED_MEMORY, 1, 0, 1);
        failEachOfShared(600000, 2, others, 1, 0, 1);
    }

    private void failEachOfShared(int count, int code, List<String> functions, int... gpus) {
        ofRanks = gpus;
        IntegerCall call = new IntegerCall(Collective.ALL_REDUCE, gpus.length, count);
        functions.forEach(function -> failEach(function, call, code));
        assertThat(refused).as("calls that ended in an exception").isGreaterThanOrEqualTo(functions.size() - 1);
    }

    @Tag("soak")
    @ParameterizedTest
    @CsvSource({"3, 3000, 2", "4, 3000, 2", "3, 600000, 2", "3, 600000, 801", "8, 3000, 802"})
    void everyFailingCallIsMet(int ranks, int count, int code) {
        failEach(ranks, count, code, OTHERS);
    }

    private void failEach(int ranks, int count, int code, List<String> others) {
        ofRanks = ExchangeGpus.apart(ranks);
        IntegerCall call = new IntegerCall(Collective.ALL_REDUCE, ranks, count);
        MULTICASTS.forEach(function -> failEach(function, call, code));
        assertThat(refused).isZero();
        assertThat(withoutTheSwitch).as("calls that did without the switch").isEqualTo(1 + 2 * ranks);
        SHARED_MEMORY.forEach(function -> failEach(function, call, code));
        others.forEach(function -> failEach(function, call, code));
        assertThat(refused).as("calls that ended in an exception").isGreaterThanOrEqualTo(4 * ranks);
    }

    private void failEach(String function, IntegerCall call, int code) {
        int number = 1;
        while (fails(function, number, call, code)) {
            number++;
        }
        assertThat(number).as("calls of %s", function).isGreaterThan(1);
    }

    /** Lets one call of a function fail. Returns whether there is such a call. */
    private boolean fails(String function, int number, IntegerCall call, int code) {
        EmulatedProcess.beginAnother(emulator);
        ToLongFunction<String> calls = name -> emulator.count("calls " + name);
        boolean failed = false;
        try (ExchangeGpus gpus = ExchangeGpus.of(emulator, ofRanks, AlgorithmChoice.PACKING, "multicast on");
                Arena arena = Arena.ofShared()) {
            List<MemorySegment> expected = call.inputs(number, arena);
            long before = calls.applyAsLong(function);
            emulator.tell("fail " + function + " " + number + " " + code);
            try {
                run(gpus.cuda(), call, expected, gpus.host());
                withoutTheSwitch += emulator.count("kernels banyan_multicast") == 0 ? 1 : 0;
            } catch (CudaException e) {
                refused++;
            }
            failed = calls.applyAsLong(function) - before >= number;
        } catch (CudaException e) {
            assertThat(failed).as("thrown by close, %s", e).isFalse();
        }
        if (!failed) {
            return false;
        }
        // Memory that a kernel may still touch is freed with a later backend.
        for (int later = 0; later < 4 && emulator.count("bytes") > 0; later++) {
            ExchangeGpus.of(ofRanks, AlgorithmChoice.PACKING, ExchangeGpus.SIZES, FaultClock.STOPPED)
                    .close();
        }
        String what = "call " + number + " of " + function;
        for (String kind : List.of("bytes", "allocations", "multicasts", "reservations", "contexts", "modules")) {
            assertThat(emulator.count(kind)).as("%s: %s", what, kind).isZero();
        }
        // A handle whose release fails is left.
        assertThat(emulator.count("backings"))
                .as("%s: handles", what)
                .isEqualTo(function.equals("cuMemRelease") ? 1 : 0);
        assertThat(emulator.problems()).as(what).isEmpty();
        return true;
    }

    private static void run(Communicator cuda, IntegerCall call, List<MemorySegment> expected, Communicator host) {
        List<MemorySegment> buffers = new ArrayList<>();
        for (int rank = 0; rank < call.ranks(); rank++) {
            buffers.add(cuda.allocate(rank, expected.get(rank).byteSize()));
            cuda.copyToDevice(buffers.get(rank), expected.get(rank));
        }
        cuda.run(call.on(buffers));
        host.run(call.on(expected));
        for (int rank = 0; rank < call.ranks(); rank++) {
            MemorySegment got =
                    MemorySegment.ofArray(new byte[(int) expected.get(rank).byteSize()]);
            cuda.copyToHost(buffers.get(rank), got);
            assertThat(got.mismatch(expected.get(rank))).as("rank %d", rank).isEqualTo(-1);
        }
    }
}
