package dev.banyan.msccl;

import dev.banyan.schedule.Location;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.type.Collective;

/**
 * Identifies MSCCL chunks that are the same memory.
 *
 * @param collective what shares memory in place
 * @param blockChunks MSCCL chunks of {@code count} elements
 * @param inPlace whether inputs and outputs share memory
 */
record Cells(Collective collective, int blockChunks, boolean inPlace) {
    /** The location by which the memory of a chunk goes. */
    Location at(int rank, Space space, int chunk) {
        if (!inPlace || space == Space.SCRATCH) {
            return new Location(rank, space, chunk);
        }
        boolean shifted =
                space == Space.INPUT ? collective == Collective.ALL_GATHER : collective == Collective.REDUCE_SCATTER;
        // The one that every rank has, and the larger of the two.
        Space buffer =
                collective == Collective.ALL_GATHER || collective == Collective.BROADCAST ? Space.OUTPUT : Space.INPUT;
        return new Location(rank, buffer, shifted ? chunk + (long) rank * blockChunks : chunk);
    }
}
