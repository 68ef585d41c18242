package dev.banyan.kvstore;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;

import dev.banyan.reduce.Communicator;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;

/**
 * One key's arrays in two bits an element, and what each device owes. Element i is bits 2 (i mod 16) and the next of
 * word i / 16: 1 is the threshold, 2 minus the threshold, 0 nothing. The key's variable orders who uses it.
 */
final class TwoBitCodec {
    private static final int PER_WORD = 16;
    private static final int PLUS = 1;
    private static final int MINUS = 2;

    private final long count;
    private final float threshold;
    private final List<MemorySegment> codes;
    private final List<MemorySegment> owed;

    TwoBitCodec(Communicator communicator, long count, float threshold) {
        this.count = count;
        this.threshold = threshold;
        long words = Math.ceilDiv(count, (long) PER_WORD);
        codes = IntStream.range(0, communicator.size())
                .mapToObj(rank -> communicator.allocate(rank, Integer.BYTES * words))
                .toList();
        owed = IntStream.range(0, communicator.size())
                .mapToObj(rank -> communicator.allocate(rank, Float.BYTES * count))
                .toList();
    }

    void encode(List<MemorySegment> arrays) {
        for (int rank = 0; rank < codes.size(); rank++) {
            for (long first = 0; first < count; first += PER_WORD) {
                codes.get(rank)
                        .set(
                                JAVA_INT_UNALIGNED,
                                first / PER_WORD * Integer.BYTES,
                                encode(arrays.get(rank), owed.get(rank), first));
            }
        }
    }

    private int encode(MemorySegment array, MemorySegment debt, long first) {
        int word = 0;
        int length = (int) Math.min(PER_WORD, count - first);
        for (int i = 0; i < length; i++) {
            long at = (first + i) * Float.BYTES;
            float wanted = debt.get(JAVA_FLOAT_UNALIGNED, at) + array.get(JAVA_FLOAT_UNALIGNED, at);
            float sent = 0;
            if (wanted >= threshold) {
                word |= PLUS << (2 * i);
                sent = threshold;
            } else if (wanted <= -threshold) {
                word |= MINUS << (2 * i);
                sent = -threshold;
            }
            debt.set(JAVA_FLOAT_UNALIGNED, at, wanted - sent);
        }
        return word;
    }

    /** Sums up what all devices sent. */
    void decode(MemorySegment target) {
        int[] words = new int[codes.size()];
        for (long first = 0; first < count; first += PER_WORD) {
            for (int rank = 0; rank < words.length; rank++) {
                words[rank] = codes.get(rank).get(JAVA_INT_UNALIGNED, first / PER_WORD * Integer.BYTES);
            }
            int length = (int) Math.min(PER_WORD, count - first);
            for (int i = 0; i < length; i++) {
                float sum = 0;
                for (int word : words) {
                    int code = (word >>> (2 * i)) & 3;
                    sum += code == PLUS ? threshold : code == MINUS ? -threshold : 0;
                }
                target.set(JAVA_FLOAT_UNALIGNED, (first + i) * Float.BYTES, sum);
            }
        }
    }
}
