package dev.banyan.cuda.internal.ptx;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * The table of a device program: what each block of one GPU runs. It lies in that GPU's memory, aligned to 16 bytes,
 * and does not change while a kernel runs. Layout, offsets in bytes:
 *
 * <pre>
 *  0 u32 blocks, u32 0, u64 address of the done counter (u32, 0 at first), u64 0, u64 0
 * 32 for each block: u64 address of its first record, u32 number of its records, u32 0
 *    the {@linkplain ProgramLoop records}, those of a block one behind another
 * </pre>
 *
 * @param blocks the loops of each block; a block of the launch for each
 */
public record ProgramTable(List<List<ProgramLoop>> blocks) {
    static final int HEAD_BYTES = 32;
    static final int BLOCK_BYTES = 16;

    /**
     * Bytes that a warp reads from the begin of a record on, whatever its length. So many zeros follow the last one.
     */
    static final int READ_AHEAD = 16 * 32;

    public ProgramTable {
        blocks = blocks.stream().map(List::copyOf).toList();
    }

    public int bytes() {
        return firstRecord()
                + blocks.stream()
                        .flatMap(List::stream)
                        .mapToInt(ProgramLoop::bytes)
                        .sum()
                + READ_AHEAD;
    }

    private int firstRecord() {
        return HEAD_BYTES + BLOCK_BYTES * blocks.size();
    }

    /**
     * Returns the table as it must lie in the memory of the GPU.
     *
     * @param address where it will lie
     * @param doneCounter address of 4 bytes in the memory of the GPU, 0 before the first launch
     */
    public ByteBuffer at(long address, long doneCounter) {
        ByteBuffer table = ByteBuffer.allocateDirect(bytes()).order(ByteOrder.nativeOrder());
        table.putInt(blocks.size()).putInt(0).putLong(doneCounter).putLong(0).putLong(0);
        long record = address + firstRecord();
        for (List<ProgramLoop> loops : blocks) {
            table.putLong(record).putInt(loops.size()).putInt(0);
            record += loops.stream().mapToInt(ProgramLoop::bytes).sum();
        }
        blocks.forEach(loops -> loops.forEach(loop -> loop.write(table)));
        return table.rewind();
    }
}
