package dev.banyan.cuda.internal.ptx;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * One of several calls that a launch of a device program carries out, one after another. The records of a batch lie one
 * behind another in mapped memory of the host, one for each call. Layout, offsets in bytes:
 *
 * <pre>
 *  0 u64 address of the table     8 u64 base of the flags
 * 16 u64 addresses of the inputs of ranks 0..15, then of their outputs
 * </pre>
 */
public final class ProgramCall {
    public static final int TABLE = 0;

    public static final int BASE = 8;

    public static final int BUFFERS = 16;

    public static final int BYTES = BUFFERS + 8 * Kernel.Program.BUFFERS;

    private ProgramCall() {}

    /**
     * Writes a record.
     *
     * @param batch the records
     * @param number of the record
     * @param inputs address of each rank's input
     * @param outputs address of each rank's output
     */
    public static void write(MemorySegment batch, int number, long table, long base, long[] inputs, long[] outputs) {
        long at = (long) BYTES * number;
        batch.set(ValueLayout.JAVA_LONG, at + TABLE, table);
        batch.set(ValueLayout.JAVA_LONG, at + BASE, base);
        for (int rank = 0; rank < inputs.length; rank++) {
            batch.set(ValueLayout.JAVA_LONG, at + BUFFERS + 8L * rank, inputs[rank]);
            batch.set(ValueLayout.JAVA_LONG, at + BUFFERS + 8L * (Kernel.Program.MOST_RANKS + rank), outputs[rank]);
        }
    }
}
