package dev.banyan.export.mscclpp;

import dev.banyan.schedule.type.Collective;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An execution plan of MSCCL++ (format of 0.8.0 and later) of the kind that Banyan writes and reads: protocol Simple,
 * memory channels, resources that are reused for all buffers.
 *
 * @param name the plan's key in the runtime; unique per content
 * @param collective what it does; reduce has no name in the runtime
 * @param inPlace whether it serves calls whose input and output share memory
 * @param minBytes least size of a call in bytes: of the output for all_gather, else of the input
 * @param maxBytes greatest size
 * @param gpus one for each rank
 */
public record MscclppPlan(
        String name, Collective collective, boolean inPlace, long minBytes, long maxBytes, List<Gpu> gpus) {
    /** Bytes of scratch memory on each rank that all chunks share, where resources are reused. */
    static final long SCRATCH_BYTES = 64L << 20;
    /** Bytes of which a chunk must be a multiple. */
    static final int ALIGNMENT = 16;

    static final int MOST_OPERATIONS = 64;
    static final int MOST_CHANNELS = 16;
    static final int MOST_CHANNELS_AT_ONCE = 8;
    static final int MOST_OPERANDS = 10;

    public MscclppPlan {
        gpus = List.copyOf(gpus);
    }

    /**
     * One rank.
     *
     * @param inputChunks equal chunks of its input
     * @param outputChunks equal chunks of its output
     * @param scratchChunks chunks of scratch memory
     * @param channels the peer of each channel; the i-th channel to a peer is paired with the peer's i-th to this rank
     * @param remotes memory of other ranks that blocks access
     * @param blocks the thread blocks
     */
    public record Gpu(
            int inputChunks,
            int outputChunks,
            int scratchChunks,
            List<Integer> channels,
            List<Remote> remotes,
            List<Block> blocks) {
        public Gpu {
            channels = List.copyOf(channels);
            remotes = List.copyOf(remotes);
            blocks = List.copyOf(blocks);
        }
    }

    /**
     * Memory of another rank.
     *
     * @param type {@code i}, {@code o} or {@code s}
     */
    public record Remote(int rank, String type) {}

    /**
     * A thread block.
     *
     * @param channels indices into the rank's channels
     * @param remotes indices into the rank's remote memory
     */
    public record Block(List<Integer> channels, List<Integer> remotes, List<Operation> operations) {
        public Block {
            channels = List.copyOf(channels);
            remotes = List.copyOf(remotes);
            operations = List.copyOf(operations);
        }
    }

    /**
     * An operation.
     *
     * @param name as the format has it, e.g. {@code put}
     * @param channels positions in the block's channels, of signals and waits
     * @param loop what a pipeline repeats; null for other operations
     */
    public record Operation(
            String name,
            List<Integer> channels,
            List<Reference> sources,
            List<Reference> targets,
            @Nullable Loop loop) {
        public Operation {
            channels = List.copyOf(channels);
            sources = List.copyOf(sources);
            targets = List.copyOf(targets);
        }

        static Operation nop() {
            return new Operation("nop", List.of(), List.of(), List.of(), null);
        }
    }

    /**
     * The body of a pipeline, repeated for each unit of some chunks.
     *
     * @param unitBytes bytes of a unit
     * @param chunks number of chunks that every operation of the body covers
     */
    public record Loop(long unitBytes, int chunks, List<Operation> operations) {
        public Loop {
            operations = List.copyOf(operations);
        }
    }

    /**
     * Chunks of memory.
     *
     * @param type {@code i}, {@code o} or {@code s} for own memory; empty for that of another rank
     * @param remote position in the block's remote memory, or -1
     */
    public record Reference(String type, int remote, int index, int size) {
        static Reference own(String type, int index, int size) {
            return new Reference(type, -1, index, size);
        }

        static Reference remote(int position, int index, int size) {
            return new Reference("", position, index, size);
        }

        boolean isOwn() {
            return remote < 0;
        }
    }

    /** Returns the name of a collective in the format. */
    static String label(Collective collective) {
        return switch (collective) {
            case ALL_REDUCE -> "allreduce";
            case ALL_GATHER -> "allgather";
            case REDUCE_SCATTER -> "reducescatter";
            case BROADCAST -> "broadcast";
            case REDUCE -> throw new IllegalArgumentException("MSCCL++ calls no plan for a reduce; take an allreduce");
        };
    }
}
