package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DriverStream;
import dev.banyan.cuda.internal.driver.LaunchParameters;
import dev.banyan.cuda.internal.ptx.ElementTable;
import dev.banyan.cuda.internal.ptx.Kernel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

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
     * @param more the parameters behind the table, as {@link LaunchParameters#set(int, long)} takes them
     */
    void start(Kernel kernel, CudaDevice device, DriverStream stream, long... more) {
        device.enter();
        try (Arena arena = Arena.ofConfined()) {
            LaunchParameters parameters = new LaunchParameters(2 + more.length, arena);
            parameters.set(
                    0, arena.allocate(table.capacity(), Long.BYTES).copyFrom(MemorySegment.ofArray(table.array())));
            parameters.set(1, entries);
            for (int i = 0; i < more.length; i++) {
                parameters.set(2 + i, more[i]);
            }
            Cuda.check(
                    parameters.launch(device.function(kernel), blocks, Kernel.BLOCK, stream),
                    "cuLaunchKernel of " + kernel.name() + " on device " + device.ordinal());
        }
    }
}
