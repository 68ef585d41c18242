package dev.banyan.mpi;

import dev.banyan.reduce.internal.host.ExactSum;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.LongStream;

/**
 * The sum or mean of floats over all processes, rounded once. Between the processes go the greatest exponents and the
 * sums in fixed point of a piece at a time.
 */
final class ExactReduction {
    /** Blocks of a piece, whose messages are 64 KiB and 512 KiB long. Assumed, not tuned. */
    private static final int PIECE_BLOCKS = 64;

    private final DataType type;
    private final boolean mean;
    private final int contributions;

    /** @param contributions how many numbers each result combines */
    ExactReduction(DataType type, boolean mean, int contributions) {
        this.type = type;
        this.mean = mean;
        this.contributions = contributions;
    }

    /**
     * Writes the result of all contributions to each array.
     *
     * @param arrays this process's contributions, of equal length
     * @param greatest combines an array of unsigned 8-bit integers of all processes by their maximum, in place
     * @param sum sums an array of 64-bit integers over all processes, in place
     */
    void reduce(List<MemorySegment> arrays, long count, Consumer<MemorySegment> greatest, Consumer<MemorySegment> sum) {
        long piece = Math.min(count, (long) PIECE_BLOCKS * ExactSum.BLOCK);
        List<ExactSum> blocks = LongStream.range(0, Math.ceilDiv(piece, ExactSum.BLOCK))
                .mapToObj(_ -> ExactSum.of(type, contributions, mean))
                .toList();
        long words = blocks.isEmpty() ? 0 : blocks.getFirst().words();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment codes = arena.allocate(piece, 64);
            MemorySegment sums = arena.allocate(piece * words * Long.BYTES, 64);
            for (long at = 0; at < count; at += piece) {
                long elements = Math.min(piece, count - at);
                long first = at;
                each(blocks, elements, (block, offset, length) -> {
                    block.begin(length);
                    arrays.forEach(array -> block.look(array, (first + offset) * type.bytes()));
                    block.getCodes(codes.asSlice(offset, length));
                });
                greatest.accept(codes.asSlice(0, elements));
                each(blocks, elements, (block, offset, length) -> {
                    block.setCodes(codes.asSlice(offset, length));
                    arrays.forEach(array -> block.add(array, (first + offset) * type.bytes()));
                    block.getWords(sums.asSlice(offset * words * Long.BYTES));
                });
                sum.accept(sums.asSlice(0, elements * words * Long.BYTES));
                each(blocks, elements, (block, offset, _) -> {
                    block.setWords(sums.asSlice(offset * words * Long.BYTES));
                    block.round();
                    arrays.forEach(array -> block.store(array, (first + offset) * type.bytes()));
                });
            }
        }
    }

    private interface Block {
        /** @param offset of the block in the piece, in elements */
        void pass(ExactSum block, long offset, int length);
    }

    private static void each(List<ExactSum> blocks, long elements, Block pass) {
        for (int b = 0; (long) b * ExactSum.BLOCK < elements; b++) {
            long offset = (long) b * ExactSum.BLOCK;
            pass.pass(blocks.get(b), offset, (int) Math.min(ExactSum.BLOCK, elements - offset));
        }
    }
}
