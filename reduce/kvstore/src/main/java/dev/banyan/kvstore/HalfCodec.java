package dev.banyan.kvstore;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import dev.banyan.reduce.Communicator;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;

/** One key's arrays as F16, on every device. The key's variable orders who uses it. */
final class HalfCodec {
    private final long count;
    private final List<MemorySegment> halves;

    HalfCodec(Communicator communicator, long count) {
        this.count = count;
        halves = IntStream.range(0, communicator.size())
                .mapToObj(rank -> communicator.allocate(rank, Short.BYTES * count))
                .toList();
    }

    /** What goes over the wire. */
    List<MemorySegment> halves() {
        return halves;
    }

    void encode(List<MemorySegment> arrays) {
        for (int rank = 0; rank < halves.size(); rank++) {
            MemorySegment array = arrays.get(rank);
            MemorySegment half = halves.get(rank);
            for (long i = 0; i < count; i++) {
                half.set(
                        JAVA_SHORT_UNALIGNED,
                        Short.BYTES * i,
                        Float.floatToFloat16(array.get(JAVA_FLOAT_UNALIGNED, Float.BYTES * i)));
            }
        }
    }

    void decode(int rank, MemorySegment target) {
        MemorySegment half = halves.get(rank);
        for (long i = 0; i < count; i++) {
            target.set(
                    JAVA_FLOAT_UNALIGNED,
                    Float.BYTES * i,
                    Float.float16ToFloat(half.get(JAVA_SHORT_UNALIGNED, Short.BYTES * i)));
        }
    }
}
