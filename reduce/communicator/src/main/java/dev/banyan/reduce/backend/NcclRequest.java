package dev.banyan.reduce.backend;

import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.util.Objects;

/**
 * A collective that NCCL is to run in place of a schedule.
 *
 * @param collective the collective
 * @param root rank of the root, or -1 where the collective has none
 * @param count elements, as {@link Collective} counts them, at least 0
 * @param type type of the elements
 * @param op operation; without meaning where the collective only copies
 * @param inPlace whether inputs and outputs are the same buffers
 */
public record NcclRequest(Collective collective, int root, long count, DataType type, ReduceOp op, boolean inPlace) {
    public NcclRequest {
        Objects.requireNonNull(collective, "collective");
        Objects.requireNonNull(type, "type");
        Objects.requireNonNull(op, "op");
    }
}
