package dev.banyan.msccl;

import dev.banyan.schedule.Space;
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
    /**
     * The program of one rank.
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

    /**
     * Steps that a GPU executes one after the other.
     *
     * @param id index among the GPU's threadblocks
     * @param send rank that its sends go to, or -1
     * @param receive rank that its receives come from, or -1
     * @param channel channel of both connections
     * @param instructions the steps in their order
     */
    record Threadblock(int id, int send, int receive, int channel, List<Instruction> instructions) {
        Threadblock {
            instructions = List.copyOf(instructions);
        }
    }

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
    record Instruction(
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

    /** Returns whether the larger buffer holds a block for each rank. */
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
