package dev.banyan.msccl;

import dev.banyan.schedule.Location;
import org.jspecify.annotations.Nullable;

/**
 * A copy or a reduction of two operands, as threadblocks can do it: target = source, or target = operand +
 * source. Offsets are in MSCCL chunks.
 *
 * @param route number of the way that its data take; equal for chunks that take the same way
 * @param count length in MSCCL chunks
 * @param source what is read, and sent if it is on another rank than the target
 * @param operand what it is combined with, on the target's rank; the target itself if the source is there
 *     too; null for a copy
 * @param target what is written
 */
record Action(
        int route, int count, Location source, @Nullable Location operand, Location target) {
    boolean isTransfer() {
        return source.rank() != target.rank();
    }

    Opcode targetOpcode() {
        if (isTransfer()) {
            return operand == null ? Opcode.RECEIVE : Opcode.RECEIVE_REDUCE_COPY;
        }
        return operand == null ? Opcode.COPY : Opcode.REDUCE;
    }
}
