package dev.banyan.nccl.internal;

import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;

/**
 * A collective as NCCL runs it.
 *
 * @param collective the collective
 * @param root rank of the root, or -1 where the collective has none
 * @param count elements, as {@link Collective} counts them, at least 0
 * @param type type of the elements
 * @param op operation; without meaning where the collective only copies
 * @param inPlace whether inputs and outputs are the same buffers
 */
public record NcclOperation(Collective collective, int root, long count, DataType type, ReduceOp op, boolean inPlace) {
    /** {@code ncclDataType_t}. */
    int ncclType() {
        return switch (type) {
            case I8 -> 0;
            case U8 -> 1;
            case I32 -> 2;
            case I64 -> 4;
            case F16 -> 6;
            case F32 -> 7;
            case F64 -> 8;
            case BF16 -> 9;
        };
    }

    /**
     * {@code ncclRedOp_t}. NCCL's mean of a single rank leaves out the last elements of some lengths; its sum does not.
     */
    int ncclOp(int ranks) {
        return switch (op) {
            case SUM -> 0;
            case PROD -> 1;
            case MAX -> 2;
            case MIN -> 3;
            case AVG -> ranks == 1 ? 0 : 4;
        };
    }

    /** Returns where a rank's input begins, of its only buffer if the call is in place. */
    long input(int rank, long input, long output) {
        return !inPlace ? input : output + (collective == Collective.ALL_GATHER ? rank * bytes() : 0);
    }

    /** Returns where a rank's output begins, of its only buffer if the call is in place. */
    long output(int rank, long output) {
        return output + (inPlace && collective == Collective.REDUCE_SCATTER ? rank * bytes() : 0);
    }

    private long bytes() {
        return count * type.bytes();
    }
}
