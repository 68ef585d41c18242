package dev.banyan.cuda.emulator;

import static dev.banyan.cuda.emulator.Addition.addition;
import static dev.banyan.cuda.emulator.Addition.launch;
import static dev.banyan.cuda.emulator.EmulatedGpus.allocate;
import static dev.banyan.cuda.emulator.EmulatedGpus.enter;
import static dev.banyan.cuda.emulator.EmulatedGpus.event;
import static dev.banyan.cuda.emulator.EmulatedGpus.fails;
import static dev.banyan.cuda.emulator.EmulatedGpus.holding;
import static dev.banyan.cuda.emulator.EmulatedGpus.ints;
import static dev.banyan.cuda.emulator.EmulatedGpus.ok;
import static dev.banyan.cuda.emulator.EmulatedGpus.pinned;
import static dev.banyan.cuda.emulator.EmulatedGpus.reach;
import static dev.banyan.cuda.emulator.EmulatedGpus.recorded;
import static dev.banyan.cuda.emulator.EmulatedGpus.stream;
import static jcuda.driver.JCudaDriver.*;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUevent_flags;
import jcuda.driver.CUfunction;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Streams, events and host functions of the emulated driver. */
class EmulatedStreamsTest {
    private CudaEmulator emulator;

    @BeforeEach
    void load() {
        emulator = EmulatedGpus.driver();
    }

    @Test
    void workIsDoneBehindTheCallersBack() {
        enter(0);
        CUstream stream = stream();
        Pointer host = new Pointer();
        ByteBuffer buffer = pinned(host, 4);
        buffer.putInt(0, 0);
        CUdeviceptr pointer = holding(7);
        emulator.tell("pause");
        ok(cuMemcpyDtoHAsync(host, pointer, 4, stream));
        CUevent event = recorded(stream);
        fails(cuStreamQuery(stream), CUresult.CUDA_ERROR_NOT_READY);
        fails(cuEventQuery(event), CUresult.CUDA_ERROR_NOT_READY);
        assertThat(buffer.getInt(0)).isZero();
        emulator.tell("resume");
        ok(cuEventSynchronize(event));
        assertThat(buffer.getInt(0)).isEqualTo(7);
        ok(cuStreamQuery(stream));
        ok(cuEventQuery(event));
    }

    @Test
    void pageableMemoryMayBeReusedAtOnce() {
        enter(0);
        CUstream stream = stream();
        CUdeviceptr pointer = allocate(4);
        int[] source = {5};
        emulator.tell("pause");
        ok(cuMemcpyHtoDAsync(pointer, Pointer.to(source), 4, stream));
        source[0] = 6;
        emulator.tell("resume");
        ok(cuStreamSynchronize(stream));
        assertThat(ints(pointer, 1)).containsExactly(5);
    }

    @Test
    void streamsKeepTheirOrderAndWaitForEvents() {
        emulator.tell("shuffle 17");
        CUcontext second = enter(1);
        CUstream there = stream();
        CUfunction add = addition();
        CUdeviceptr one = holding(1);
        CUdeviceptr far = holding(0);
        CUcontext first = enter(0);
        reach(second);
        CUstream here = stream();
        CUdeviceptr near = holding(0);
        List<CUevent> events = new ArrayList<>();
        emulator.tell("pause");
        for (int i = 0; i < 50; i++) {
            ok(launch(add, there, 1, far, far, one));
            ok(cuCtxSetCurrent(second));
            CUevent event = recorded(there);
            ok(cuCtxSetCurrent(first));
            ok(cuStreamWaitEvent(here, event, 0));
            ok(cuMemcpyPeerAsync(near, first, far, second, 4, here));
            CUevent copied = recorded(here);
            ok(cuStreamWaitEvent(there, copied, 0));
            events.add(event);
        }
        emulator.tell("resume");
        ok(cuStreamSynchronize(here));
        assertThat(ints(near, 1)).containsExactly(50);
        fails(cuEventRecord(events.getFirst(), here), CUresult.CUDA_ERROR_INVALID_HANDLE);
    }

    @Test
    void independentStreamsMayOvertake() {
        enter(0);
        CUstream held = stream();
        CUstream free = stream();
        CUdeviceptr pointer = holding(1);
        CUdeviceptr other = holding(0);
        emulator.tell("op copy 1 hang");
        ok(cuMemcpyDtoDAsync(other, pointer, 4, held));
        ok(cuMemcpyDtoDAsync(other, pointer, 4, free));
        ok(cuStreamSynchronize(free));
        fails(cuStreamQuery(held), CUresult.CUDA_ERROR_NOT_READY);
        emulator.tell("release 0");
        ok(cuStreamSynchronize(held));
    }

    @Test
    void theDefaultStreamWaitsForBlockingStreamsOnly() {
        enter(0);
        CUstream blocking = new CUstream();
        ok(cuStreamCreate(blocking, 0));
        CUdeviceptr pointer = holding(0);
        emulator.tell("op fill 1 hang");
        ok(cuMemsetD32Async(pointer, 9, 1, blocking));
        fails(cuStreamQuery(blocking), CUresult.CUDA_ERROR_NOT_READY);
        ok(cuMemsetD32(pointer, 3, 1));
        fails(cuStreamQuery(null), CUresult.CUDA_ERROR_NOT_READY);
        CUstream free = stream();
        ok(cuMemsetD32Async(allocate(4), 9, 1, free));
        ok(cuStreamSynchronize(free));
        emulator.tell("release 0");
        ok(cuStreamSynchronize(null));
        assertThat(ints(pointer, 1)).containsExactly(3);
    }

    @Test
    void hostFunctionsAndCallbacksAreCalledInOrder() throws InterruptedException {
        enter(0);
        CUstream stream = stream();
        CUdeviceptr pointer = holding(0);
        CountDownLatch may = new CountDownLatch(1);
        CountDownLatch called = new CountDownLatch(2);
        int[] status = {-1};
        ok(cuLaunchHostFunc(
                stream,
                data -> {
                    await(may);
                    called.countDown();
                },
                null));
        ok(cuMemsetD32Async(pointer, 4, 1, stream));
        ok(cuStreamAddCallback(
                stream,
                (of, result, data) -> {
                    status[0] = result;
                    called.countDown();
                },
                null,
                0));
        fails(cuStreamQuery(stream), CUresult.CUDA_ERROR_NOT_READY);
        may.countDown();
        called.await();
        ok(cuStreamSynchronize(stream));
        assertThat(status[0]).isZero();
        assertThat(ints(pointer, 1)).containsExactly(4);
        assertThat(emulator.count("host functions")).isEqualTo(2);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void eventsTellTime() {
        enter(0);
        CUstream stream = stream();
        CUevent start = recorded(stream);
        ok(cuMemsetD8Async(allocate(1 << 20), (byte) 1, 1 << 20, stream));
        CUevent end = recorded(stream);
        float[] milliseconds = new float[1];
        ok(cuEventSynchronize(end));
        ok(cuEventElapsedTime(milliseconds, start, end));
        assertThat(milliseconds[0]).isPositive();
        fails(cuEventElapsedTime(milliseconds, start, event()), CUresult.CUDA_ERROR_INVALID_HANDLE);
        CUevent timeless = new CUevent();
        ok(cuEventCreate(timeless, CUevent_flags.CU_EVENT_DISABLE_TIMING));
        ok(cuEventRecord(timeless, stream));
        fails(cuEventElapsedTime(milliseconds, start, timeless), CUresult.CUDA_ERROR_INVALID_HANDLE);
    }

    /** A launch takes 2 us, a node 1, an edge between devices 3, a copy 5, and 1000 bytes 1. */
    @Test
    void theClockCountsWhatWaitsForWhat() {
        enter(0);
        CUstream stream = stream();
        CUstream other = stream();
        CUdeviceptr pointer = allocate(2000);
        CUdeviceptr target = EmulatedGpus.at(pointer, 1000);
        assertThat(emulator.count("clock us")).isZero();
        emulator.tell("clock 2 1 3 5 1");
        ok(cuMemcpyDtoDAsync(target, pointer, 1000, stream));
        ok(cuMemcpyDtoDAsync(target, pointer, 1000, stream));
        ok(cuStreamSynchronize(stream));
        assertThat(emulator.count("clock us"))
                .as("the second waits for the first")
                .isEqualTo(2 + 6 + 6);
        emulator.tell("clock 2 1 3 5 1");
        ok(cuMemcpyDtoDAsync(target, pointer, 1000, stream));
        ok(cuMemcpyDtoDAsync(target, pointer, 1000, other));
        ok(cuStreamSynchronize(stream));
        ok(cuStreamSynchronize(other));
        assertThat(emulator.count("clock us")).as("both at once").isEqualTo(2 + 2 + 6);
        CUevent done = recorded(stream);
        enter(1);
        CUstream there = stream();
        CUdeviceptr far = allocate(1000);
        emulator.tell("clock 2 1 3 5 1");
        ok(cuMemcpyDtoDAsync(target, pointer, 1000, stream));
        ok(cuEventRecord(done, stream));
        ok(cuStreamWaitEvent(there, done, 0));
        ok(cuMemcpyDtoDAsync(far, far, 1000, there));
        ok(cuStreamSynchronize(there));
        assertThat(emulator.count("clock us")).as("across devices").isEqualTo(2 + 6 + 3 + 6);
        emulator.tell("clock off");
        assertThat(emulator.count("clock us")).isZero();
    }

    @Test
    void streamsHavePriorities() {
        enter(0);
        int[] least = new int[1];
        int[] greatest = new int[1];
        ok(cuCtxGetStreamPriorityRange(least, greatest));
        assertThat(greatest[0]).isLessThan(least[0]);
        CUstream stream = new CUstream();
        ok(cuStreamCreateWithPriority(stream, 1, -100));
        int[] priority = new int[1];
        ok(cuStreamGetPriority(stream, priority));
        assertThat(priority[0]).isEqualTo(greatest[0]);
        ok(cuStreamDestroy(stream));
        fails(cuStreamQuery(stream), CUresult.CUDA_ERROR_INVALID_HANDLE);
        assertThat(emulator.count("streams")).isZero();
    }

    @Test
    void aDestroyedStreamFinishesItsWork() {
        CUcontext context = enter(0);
        CUstream stream = stream();
        CUdeviceptr pointer = holding(0);
        emulator.tell("pause");
        ok(cuMemsetD32Async(pointer, 8, 1, stream));
        CUevent event = recorded(stream);
        ok(cuStreamDestroy(stream));
        ok(cuEventDestroy(event));
        emulator.tell("resume");
        ok(cuCtxSynchronize());
        assertThat(ints(pointer, 1)).containsExactly(8);
        assertThat(context).isNotNull();
    }
}
