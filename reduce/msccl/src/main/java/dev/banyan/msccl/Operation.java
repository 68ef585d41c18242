package dev.banyan.msccl;

import dev.banyan.schedule.Space;

/**
 * One step of a threadblock. Offsets and count are in MSCCL chunks.
 *
 * @param opcode what it does
 * @param sourceSpace buffer of the source; of the peer's source for a plain receive, where it says nothing
 * @param sourceOffset first chunk of the source, -1 if it has none
 * @param targetSpace buffer of the target; of the peer's target for a plain send, where it says nothing
 * @param targetOffset first chunk of the target, -1 if it has none
 * @param count number of chunks, 0 for a no-operation
 * @param block threadblock of the same GPU to wait for, or -1
 * @param step the step of that threadblock that must be done
 * @param awaited whether others wait for this one ({@code hasdep})
 * @param position where it stands in a file
 */
record Operation(
        Opcode opcode,
        Space sourceSpace,
        int sourceOffset,
        Space targetSpace,
        int targetOffset,
        int count,
        int block,
        int step,
        boolean awaited,
        Position position) {

    /** Line and column from 1, or 0 where there is no file. */
    record Position(int line, int column) {
        static final Position NONE = new Position(0, 0);
    }

    boolean waits() {
        return block >= 0;
    }
}
