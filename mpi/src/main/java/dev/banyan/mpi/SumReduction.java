package dev.banyan.mpi;

import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.reduce.internal.sum.SumBlock;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.LongStream;

/**
 * The {@linkplain ReproducibleSum reproducible sum} or mean of floats over all processes. Between the processes go the
 * greatest codes and the sums of integers of a piece at a time.
 */
final class SumReduction {
    /** Blocks of a piece, whose messages are 64 KiB and 256 or 512 KiB long. Assumed, not tuned. */
    private static final int PIECE_BLOCKS = 64;

    private final ReproducibleSum sum;

    SumReduction(ReproducibleSum sum) {
        this.sum = sum;
    }

    /**
     * Writes the result of all contributions to each array.
     *
     * @param arrays this process's contributions, of equal length
     * @param greatest combines an array of unsigned 8-bit integers of all processes by their maximum, in place
     * @param total sums an array of integers over all processes, in place
     */
    void reduce(
            List<MemorySegment> arrays, long count, Consumer<MemorySegment> greatest, Consumer<MemorySegment> total) {
        long piece = Math.min(count, (long) PIECE_BLOCKS * SumBlock.LENGTH);
        List<SumBlock> blocks = LongStream.range(0, Math.ceilDiv(piece, SumBlock.LENGTH))
                .mapToObj(_ -> new SumBlock(sum))
                .toList();
        int bytes = sum.type().bytes();
        int integerBytes = sum.integers().bytes();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment codes = arena.allocate(piece, 64);
            MemorySegment integers = arena.allocate(piece * integerBytes, 64);
            for (long at = 0; at < count; at += piece) {
                long elements = Math.min(piece, count - at);
                long first = at;
                each(blocks, elements, (block, offset, length) -> {
                    block.begin(length);
                    arrays.forEach(array -> block.look(array, (first + offset) * bytes));
                    block.getCodes(codes.asSlice(offset, length));
                });
                greatest.accept(codes.asSlice(0, elements));
                each(blocks, elements, (block, offset, length) -> {
                    block.setCodes(codes.asSlice(offset, length));
                    arrays.forEach(array -> block.add(array, (first + offset) * bytes));
                    block.getIntegers(integers.asSlice(offset * integerBytes));
                });
                total.accept(integers.asSlice(0, elements * integerBytes));
                each(blocks, elements, (block, offset, _) -> {
                    block.setIntegers(integers.asSlice(offset * integerBytes));
                    block.round();
                    arrays.forEach(array -> block.store(array, (first + offset) * bytes));
                });
            }
        }
    }

    private interface Part {
        /** @param offset of the block in the piece, in elements */
        void pass(SumBlock block, long offset, int length);
    }

    private static void each(List<SumBlock> blocks, long elements, Part part) {
        for (int b = 0; (long) b * SumBlock.LENGTH < elements; b++) {
            long offset = (long) b * SumBlock.LENGTH;
            part.pass(blocks.get(b), offset, (int) Math.min(SumBlock.LENGTH, elements - offset));
        }
    }
}
