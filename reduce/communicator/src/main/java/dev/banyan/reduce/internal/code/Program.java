package dev.banyan.reduce.internal.code;

import dev.banyan.reduce.backend.StepListener;
import dev.banyan.reduce.internal.loop.FusedLoop;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A compiled schedule and the state of the threads that run it. Its chunks are cut into blocks; a block goes through
 * all steps of its chunk before the thread takes the next one, so that partial results stay in the thread's cache and
 * every buffer passes through memory once.
 */
public final class Program implements AutoCloseable {
    /**
     * A chunk.
     *
     * @param code its steps
     * @param elements its length
     * @param firstBlock number of blocks of the chunks before it
     */
    public record Part(ChunkCode code, long elements, long firstBlock) {}

    private final Part[] parts;
    private final long blocks;
    private final int blockElements;
    private final int elementBytes;
    /** True if code works on segments instead of addresses: to store references in each run takes long. */
    private final boolean usesSegments;
    /** True if frames have a listener. */
    private boolean isAttached;

    private final long traffic;
    private final MemorySegment[] buffers;
    private final long[] addresses;
    private final long[] extents;
    private final Frame[] frames;
    private final Arena scratch;

    /**
     * @param parts the chunks
     * @param blocks number of blocks of all of them
     * @param elementBytes length of an element
     * @param traffic bytes that a run reads and writes
     * @param buffers the array of buffers that the frames share
     * @param addresses the array of their addresses that the frames share
     * @param extents least length of each buffer in bytes, where code does not check it
     * @param frames one for each thread that may take part, the caller's first
     * @param scratch the arena of the frames' private memory
     */
    public Program(
            List<Part> parts,
            long blocks,
            int blockElements,
            int elementBytes,
            long traffic,
            MemorySegment[] buffers,
            long[] addresses,
            long[] extents,
            List<Frame> frames,
            Arena scratch) {
        this.parts = parts.toArray(Part[]::new);
        this.blocks = blocks;
        this.blockElements = blockElements;
        this.elementBytes = elementBytes;
        this.traffic = traffic;
        this.buffers = buffers;
        this.addresses = addresses;
        this.extents = extents;
        this.frames = frames.toArray(Frame[]::new);
        usesSegments = parts.stream().anyMatch(part -> !(part.code() instanceof FusedCode));
        this.scratch = scratch;
    }

    /** Returns the fused loops. */
    public Set<FusedLoop> loops() {
        Set<FusedLoop> loops = new HashSet<>();
        for (Part part : parts) {
            if (part.code() instanceof FusedCode fused) {
                loops.addAll(fused.loops());
            }
        }
        return loops;
    }

    /** Returns the number of threads that may run blocks at the same time. */
    public int participants() {
        return frames.length;
    }

    public long blocks() {
        return blocks;
    }

    /** Returns the number of bytes that a run reads and writes. */
    public long traffic() {
        return traffic;
    }

    /** Returns whether each block is at one place in all buffers that it is in, right behind the block before. */
    public boolean isAligned() {
        long end = 0;
        for (Part part : parts) {
            if (part.code().place() != end) {
                return false;
            }
            end += part.elements() * elementBytes;
        }
        return true;
    }

    /** Returns where a block begins in all buffers of an aligned program, in bytes; for {@link #blocks} the end. */
    public long place(long block) {
        long place = 0;
        for (Part part : parts) {
            long elements = Math.clamp((block - part.firstBlock()) * blockElements, 0, part.elements());
            place += elements * elementBytes;
        }
        return place;
    }

    /**
     * Sets the buffers of the next run. The caller keeps them reachable while it runs.
     *
     * @throws IllegalArgumentException if one is too short
     */
    public void setBuffers(MemorySegment[] inputs, MemorySegment[] outputs) {
        int ranks = inputs.length;
        for (int b = 0; b < extents.length; b++) {
            MemorySegment buffer = b < ranks ? inputs[b] : outputs[b - ranks];
            if (extents[b] > 0 && (buffer.byteSize() < extents[b] || !buffer.isNative())) {
                throw new IllegalArgumentException("the " + (b < ranks ? "input" : "output") + " of rank " + b % ranks
                        + " is not native memory of at least " + extents[b] + " bytes");
            }
            if (usesSegments) {
                buffers[b] = buffer;
            }
            // An address that has not changed is not written, because other threads have it in their caches.
            if (addresses[b] != buffer.address()) {
                addresses[b] = buffer.address();
            }
        }
    }

    /** Sets the listener of the next run. */
    public void attach(StepListener listener, long run) {
        isAttached = true;
        for (Frame frame : frames) {
            frame.listener = listener;
            frame.run = run;
        }
    }

    /** Drops the buffers, so that a cached plan does not keep the user's arenas alive. */
    public void forgetBuffers() {
        if (usesSegments) {
            Arrays.fill(buffers, MemorySegment.NULL);
            for (Frame frame : frames) {
                Arrays.fill(frame.segments, MemorySegment.NULL);
            }
        }
        if (isAttached) {
            isAttached = false;
            for (Frame frame : frames) {
                frame.listener = null;
            }
        }
    }

    /**
     * Runs a block.
     *
     * @param participant whose frame it uses
     */
    public void runBlock(int participant, long block) {
        Frame frame = frames[participant];
        // A thread takes later and later blocks, so that the search goes on where the last one ended.
        int part = parts[frame.chunk].firstBlock() <= block ? frame.chunk : 0;
        while (part + 1 < parts.length && parts[part + 1].firstBlock() <= block) {
            part++;
        }
        if (frame.chunk != part) {
            frame.chunk = part;
        }
        Part current = parts[part];
        long first = (block - current.firstBlock()) * blockElements;
        current.code().run(frame, first, (int) Math.min(blockElements, current.elements() - first));
    }

    /** Frees the private memory. */
    @Override
    public void close() {
        scratch.close();
    }
}
