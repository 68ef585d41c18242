package dev.banyan.msccl;

import dev.banyan.schedule.Space;
import java.util.List;

/**
 * What one rank does.
 *
 * @param id its rank
 * @param inputChunks MSCCL chunks of its input, 0 if it is not used
 * @param outputChunks MSCCL chunks of its output, 0 if it is not used
 * @param scratchChunks MSCCL chunks of its scratch memory
 * @param threadblocks its threadblocks, ordered by id
 */
record Gpu(int id, int inputChunks, int outputChunks, int scratchChunks, List<Threadblock> threadblocks) {
    Gpu {
        threadblocks = List.copyOf(threadblocks);
    }

    int chunks(Space space) {
        return switch (space) {
            case INPUT -> inputChunks;
            case OUTPUT -> outputChunks;
            case SCRATCH -> scratchChunks;
        };
    }
}
