package dev.banyan.msccl;

import dev.banyan.schedule.type.Collective;
import java.util.List;

/**
 * The contents of a file.
 *
 * @param name its name
 * @param protocol how connections move data
 * @param collective what it does
 * @param chunksPerLoop MSCCL chunks that the larger of a rank's input and output has
 * @param inPlace whether it may run in place
 * @param outOfPlace whether it may run out of place
 * @param gpus the ranks in their order
 */
record Algo(
        String name,
        MscclProtocol protocol,
        Collective collective,
        int chunksPerLoop,
        boolean inPlace,
        boolean outOfPlace,
        List<Gpu> gpus) {
    Algo {
        gpus = List.copyOf(gpus);
    }

    int ranks() {
        return gpus.size();
    }

    /** MSCCL chunks of {@code count} elements, as {@link Collective} counts them. */
    int blockChunks() {
        return isByBlocks(collective) ? chunksPerLoop / ranks() : chunksPerLoop;
    }

    /** Whether the larger buffer holds a block for each rank. */
    static boolean isByBlocks(Collective collective) {
        return collective == Collective.ALL_GATHER || collective == Collective.REDUCE_SCATTER;
    }

    /** Number of channels: one more than the greatest. */
    int channels() {
        return gpus.stream()
                        .flatMap(gpu -> gpu.threadblocks().stream())
                        .mapToInt(Threadblock::channel)
                        .max()
                        .orElse(-1)
                + 1;
    }
}
