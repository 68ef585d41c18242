package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.emulator.EmulatedGpus.allocate;
import static dev.banyan.cuda.emulator.EmulatedGpus.enter;
import static dev.banyan.cuda.emulator.EmulatedGpus.ok;
import static dev.banyan.cuda.emulator.EmulatedGpus.pinned;
import static dev.banyan.cuda.emulator.EmulatedGpus.stream;
import static jcuda.driver.JCudaDriver.cuCtxSetCurrent;
import static jcuda.driver.JCudaDriver.cuLaunchKernel;
import static jcuda.driver.JCudaDriver.cuMemHostGetDevicePointer;
import static jcuda.driver.JCudaDriver.cuMemcpyDtoH;
import static jcuda.driver.JCudaDriver.cuMemcpyHtoD;
import static jcuda.driver.JCudaDriver.cuStreamSynchronize;

import dev.banyan.cuda.FaultClock;
import dev.banyan.cuda.emulator.EmulatedGpus;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUfunction;
import jcuda.driver.CUstream;

/** One emulated GPU that runs device programs which a test builds by hand, with an image of its memory on the host. */
final class ProgramGpu {
    /** By the clock of the emulated GPUs. */
    static final long TIMEOUT = FaultClock.TIMEOUT.toNanos();

    private static final int FLAG_STRIDE = 128;
    private static final int MOST_BLOCKS = 64;

    final CUcontext context;
    final ByteBuffer control;

    private final CUstream stream;
    private final CUdeviceptr memory;
    private final long first;
    private final CUdeviceptr controlAddress = new CUdeviceptr();
    private final byte[] bytes;
    private final ByteBuffer image;
    private final long doneCounter;
    private int used;

    /** @param bytes of its memory that programs may use */
    ProgramGpu(int ordinal, int bytes) {
        context = enter(ordinal);
        stream = stream();
        memory = allocate(bytes);
        first = EmulatedGpus.attribute(jcuda.driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_POINTER, memory);
        this.bytes = new byte[bytes];
        Arrays.fill(this.bytes, (byte) 0xA5);
        image = ByteBuffer.wrap(this.bytes).order(ByteOrder.nativeOrder());
        Pointer host = new Pointer();
        control = pinned(host, ProgramStatus.controlBytes(MOST_BLOCKS));
        ok(cuMemHostGetDevicePointer(controlAddress, host, 0));
        clearControl();
        doneCounter = reserve(4, 128);
        put(doneCounter).putInt(0, 0);
    }

    void clearControl() {
        for (int i = 0; i < control.capacity(); i++) {
            control.put(i, (byte) 0);
        }
    }

    /** Address of bytes that nobody else has. */
    long reserve(int number, int alignment) {
        used = Math.ceilDiv(used, alignment) * alignment + number;
        if (used > bytes.length) {
            throw new AssertionError("more than " + bytes.length + " bytes");
        }
        return first + used - number;
    }

    /** Address of a flag that is 0. */
    long flag() {
        long flag = reserve(8, FLAG_STRIDE);
        put(flag).putLong(0, 0);
        return flag;
    }

    /** The image from an address on. */
    ByteBuffer put(long address) {
        return image.slice((int) (address - first), bytes.length - (int) (address - first))
                .order(ByteOrder.nativeOrder());
    }

    byte[] bytes(long address, int number) {
        int at = (int) (address - first);
        return Arrays.copyOfRange(bytes, at, at + number);
    }

    /** Copies the image to the GPU. */
    void upload() {
        ok(cuCtxSetCurrent(context));
        ok(cuMemcpyHtoD(memory, Pointer.to(bytes), used));
        ok(cuStreamSynchronize(null));
    }

    /** Copies the memory of the GPU to the image. */
    void download() {
        ok(cuCtxSetCurrent(context));
        ok(cuMemcpyDtoH(Pointer.to(bytes), memory, used));
    }

    /** Puts a table into the image and returns its address. */
    long table(List<List<ProgramLoop>> blocks) {
        ProgramTable table = new ProgramTable(blocks);
        long address = reserve(table.bytes(), 16);
        put(address).put(table.at(address, doneCounter));
        return address;
    }

    /** Lets this GPU touch the memory of a peer. */
    void reach(ProgramGpu peer) {
        ok(cuCtxSetCurrent(context));
        EmulatedGpus.reach(peer.context);
    }

    CUfunction function(String ptx, String name) {
        ok(cuCtxSetCurrent(context));
        return EmulatedGpus.function(ptx, name);
    }

    void launch(CUfunction function, long table, int blocks, int workers, long base, long timeout, long... buffers) {
        ok(cuCtxSetCurrent(context));
        Pointer[] parameters = new Pointer[7 + Kernel.Program.BUFFERS];
        parameters[0] = Pointer.to(new long[] {table});
        parameters[1] = Pointer.to(new long[] {base});
        parameters[2] = Pointer.to(controlAddress);
        parameters[3] = Pointer.to(new long[] {timeout});
        parameters[4] = Pointer.to(new long[] {0});
        parameters[5] = Pointer.to(new long[] {0});
        parameters[6] = Pointer.to(new long[] {0});
        for (int b = 0; b < Kernel.Program.BUFFERS; b++) {
            parameters[7 + b] = Pointer.to(new long[] {b < buffers.length ? buffers[b] : 0});
        }
        int threads = workers + Kernel.Program.POSTING_THREADS;
        ok(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, Pointer.to(parameters), null));
    }

    void await() {
        ok(cuCtxSetCurrent(context));
        ok(cuStreamSynchronize(stream));
    }

    /** The base of the last launch that ended well. */
    long done() {
        return control.getLong(ProgramStatus.DONE);
    }

    ProgramStatus status(int block) {
        return ProgramStatus.of(MemorySegment.ofBuffer(control), block);
    }
}
