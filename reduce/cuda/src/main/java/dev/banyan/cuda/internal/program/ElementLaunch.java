package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.ptx.ElementTable;
import dev.banyan.cuda.internal.ptx.Kernel;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/** A launch of a kernel that works on the elements of the arrays in a table. */
final class ElementLaunch {
    private final ByteBuffer table = ByteBuffer.allocate(ElementTable.ENTRY_BYTES * ElementTable.MOST_ENTRIES)
            .order(ByteOrder.nativeOrder());
    private int entries;
    private int blocks;

    /** Adds three arrays of some elements each. */
    void add(MemorySegment first, MemorySegment second, MemorySegment third, long count) {
        table.putLong(first.address());
        table.putLong(second.address());
        table.putLong(third.address());
        table.putLong(count);
        table.putInt(blocks);
        table.putInt(0);
        blocks = Math.addExact(blocks, Math.toIntExact(Math.ceilDiv(count, (long) ElementTable.CHUNK)));
        entries++;
    }

    /**
     * Launches the kernel.
     *
     * @param more the parameters behind the table
     */
    void start(Kernel kernel, CudaDevice device, CUstream stream, List<? extends NativePointerObject> more) {
        List<NativePointerObject> parameters = new ArrayList<>();
        parameters.add(Pointer.to(table.array()));
        parameters.add(Pointer.to(new int[] {entries}));
        parameters.addAll(more);
        device.enter();
        Cuda.check(
                JCudaDriver.cuLaunchKernel(
                        device.function(kernel),
                        blocks,
                        1,
                        1,
                        Kernel.BLOCK,
                        1,
                        1,
                        0,
                        stream,
                        Pointer.to(parameters.toArray(NativePointerObject[]::new)),
                        null),
                "cuLaunchKernel of " + kernel.name() + " on device " + device.ordinal());
    }
}
