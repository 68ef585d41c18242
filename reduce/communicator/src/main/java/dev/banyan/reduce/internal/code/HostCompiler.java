package dev.banyan.reduce.internal.code;

import dev.banyan.reduce.internal.kernel.KernelSpec;
import dev.banyan.reduce.internal.kernel.Kernels;
import dev.banyan.reduce.internal.loop.FusedLoop;
import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.ChunkJoin;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** Compiles one schedule for a type and an operation. */
public final class HostCompiler {
    /** Length of a block. Measured: 16 to 64 KiB; some ten operands of it fit into a level 2 cache. */
    private static final int BLOCK_BYTES = 32 << 10;
    /** Length of the shortest block that is worth a thread. */
    private static final int SHORTEST_BLOCK_BYTES = 4 << 10;
    /** Threads take blocks in turns; the last one that ends should not be far behind. */
    private static final int BLOCKS_PER_THREAD = 4;
    /** Length of a block of 16-bit floats, which goes step by step through the level 1 cache. */
    private static final int ROUNDED_BLOCK_BYTES = 8 << 10;
    /** So many bytes are read and written in less time than it takes to share them with a thread that is awake. */
    private static final long BYTES_PER_HELPER = 512 << 10;

    private final Schedule schedule;
    private final DataType type;
    private final ReduceOp op;
    private final Kernels kernels;
    private final int mostHelpers;
    private final boolean mean;
    private final boolean integerMean;

    /**
     * @param schedule its elements are of the type's length
     * @param mostHelpers greatest number of threads that help the caller
     */
    public HostCompiler(Schedule schedule, DataType type, ReduceOp op, Kernels kernels, int mostHelpers) {
        this.schedule = schedule;
        this.type = type;
        this.op = op == ReduceOp.AVG ? ReduceOp.SUM : op;
        this.kernels = kernels;
        this.mostHelpers = mostHelpers;
        mean = op == ReduceOp.AVG && schedule.collective().reduces() && schedule.ranks() > 1;
        integerMean = mean && !type.isFloating();
    }

    /** Returns a program that runs loops fused of the steps, where they can be. */
    public Program fused() {
        List<Chunk> chunks = ChunkJoin.joined(schedule.chunks());
        return compile(chunks, fuses(), kernels, blockElements(chunks, fuses()));
    }

    private boolean fuses() {
        // Vectors have no conversion of 16-bit floats, and no sums of integers that are wider than these.
        boolean ordered = op == ReduceOp.MIN || op == ReduceOp.MAX;
        return kernels == Kernels.VECTOR && !integerMean && (type != DataType.F16 || ordered);
    }

    /**
     * Returns a program for the time until the fused loops are compiled: one of loops that are fast from the start. It
     * has the blocks of {@link #fused}, as processes that share blocks may differ in what they have compiled.
     */
    public Program plain() {
        List<Chunk> chunks = ChunkJoin.joined(schedule.chunks());
        return compile(chunks, false, Kernels.PLAIN, blockElements(chunks, fuses()));
    }

    /** Returns a program that runs the steps of the schedule's chunks one after another. */
    public Program stepwise() {
        return compile(schedule.chunks(), false, kernels, blockElements(schedule.chunks(), false));
    }

    /** Returns the length of a block; a multiple of a cache line, so that no two threads write one. */
    private int blockElements(List<Chunk> chunks, boolean fuses) {
        long longest = 0;
        long all = 0;
        for (Chunk chunk : chunks) {
            longest = Math.max(longest, chunk.bytes());
            all += chunk.bytes();
        }
        long share = all / BLOCKS_PER_THREAD / (mostHelpers + 1);
        int bytes = Math.clamp(share, SHORTEST_BLOCK_BYTES, rounds() && !fuses ? ROUNDED_BLOCK_BYTES : BLOCK_BYTES)
                / FusedLoop.UNIT
                * FusedLoop.UNIT;
        // The wide sums of integers are eight times as long as bytes.
        return (int) Math.min(integerMean && !fuses ? bytes / 8 : bytes / type.bytes(), longest / type.bytes());
    }

    private boolean rounds() {
        return type == DataType.F16 || type == DataType.BF16;
    }

    private Program compile(List<Chunk> chunks, boolean fuses, Kernels stepKernels, int blockElements) {
        int blockBytes = blockElements * type.bytes();
        ChunkCompiler compiler = new ChunkCompiler(schedule, mean, blockBytes);
        List<Program.Part> parts = new ArrayList<>();
        long[] extents = new long[2 * schedule.ranks()];
        long blocks = 0;
        long traffic = 0;
        int operands = 0;
        long privateBytes = 0;
        int sums = 0;
        for (Chunk chunk : chunks) {
            ChunkCode code = code(chunk, compiler, fuses, blockBytes);
            long elements = chunk.bytes() / type.bytes();
            parts.add(new Program.Part(code, elements, blocks));
            code.extend(extents, chunk.bytes());
            blocks += Math.ceilDiv(elements, blockElements);
            traffic += code.streams() * chunk.bytes();
            switch (code) {
                case StepCode steps -> operands = Math.max(operands, steps.maxOperands());
                case IntegerMeanCode means -> sums = Math.max(sums, means.sums());
                case FusedCode _ -> {}
            }
            privateBytes = Math.max(privateBytes, code.privateBytes());
        }
        int helpers = Math.clamp(Math.min(blocks - 1, traffic / BYTES_PER_HELPER), 0, mostHelpers);
        MemorySegment[] buffers = new MemorySegment[2 * schedule.ranks()];
        long[] addresses = new long[buffers.length];
        List<Frame> frames = new ArrayList<>();
        @SuppressWarnings("MustBeClosedChecker") // The program closes it.
        Arena scratch = Arena.ofShared();
        try {
            for (int f = 0; f <= helpers; f++) {
                frames.add(new Frame(
                        buffers,
                        addresses,
                        scratch.allocate(Frame.restBytes() + privateBytes, 64),
                        operands > 0 && schedule.collective().reduces()
                                ? stepKernels.create(new KernelSpec(type, op), blockElements)
                                : null,
                        integerMean ? new WideSums(type, sums, blockElements) : null,
                        operands));
            }
        } catch (Throwable e) { // too little memory
            scratch.close();
            throw e;
        }
        return new Program(
                parts, blocks, blockElements, type.bytes(), traffic, buffers, addresses, extents, frames, scratch);
    }

    private ChunkCode code(Chunk chunk, ChunkCompiler compiler, boolean fuses, int blockBytes) {
        if (fuses) {
            return Fusion.fuse(compiler.steps(chunk), type, op, blockBytes, schedule.ranks());
        }
        return integerMean ? compiler.integerMean(chunk) : compiler.steps(chunk);
    }
}
