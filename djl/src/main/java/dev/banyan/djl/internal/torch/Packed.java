package dev.banyan.djl.internal.torch;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Arrays of one type, packed one after another. An array that is already at its place is not copied.
 *
 * @param memory the packed arrays; at least as long as all arrays together
 */
public record Packed(List<HostArray> arrays, MemorySegment memory) {
    /** Returns the length of all arrays together, in bytes. */
    public static long bytes(List<HostArray> arrays) {
        return arrays.stream().mapToLong(array -> array.memory().byteSize()).sum();
    }

    /** Copies the arrays to the memory. */
    public void gather() {
        long at = 0;
        for (HostArray array : arrays) {
            MemorySegment own = array.memory();
            if (!isAt(own, at)) {
                MemorySegment.copy(own, 0, memory, at, own.byteSize());
            }
            at += own.byteSize();
        }
    }

    /** Copies the memory to the arrays. */
    public void scatter() {
        long at = 0;
        for (HostArray array : arrays) {
            MemorySegment own = array.memory();
            if (!isAt(own, at)) {
                MemorySegment.copy(memory, at, own, 0, own.byteSize());
            }
            array.writeBack();
            at += own.byteSize();
        }
    }

    private boolean isAt(MemorySegment own, long at) {
        return own.address() == memory.address() + at;
    }
}
