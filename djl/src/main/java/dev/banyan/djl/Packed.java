package dev.banyan.djl;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Arrays of one type, one behind the other. One that lies there already is not copied.
 *
 * @param memory at least as long as all arrays together
 */
record Packed(List<HostArray> arrays, MemorySegment memory) {
    /** What arrays take together. */
    static long bytes(List<HostArray> arrays) {
        return arrays.stream().mapToLong(array -> array.memory().byteSize()).sum();
    }

    /** Copies the arrays to the memory. */
    void gather() {
        long at = 0;
        for (HostArray array : arrays) {
            MemorySegment own = array.memory();
            if (!lies(own, at)) {
                MemorySegment.copy(own, 0, memory, at, own.byteSize());
            }
            at += own.byteSize();
        }
    }

    /** Makes the arrays what the memory holds. */
    void scatter() {
        long at = 0;
        for (HostArray array : arrays) {
            MemorySegment own = array.memory();
            if (!lies(own, at)) {
                MemorySegment.copy(memory, at, own, 0, own.byteSize());
            }
            array.writeBack();
            at += own.byteSize();
        }
    }

    private boolean lies(MemorySegment own, long at) {
        return own.address() == memory.address() + at;
    }
}
