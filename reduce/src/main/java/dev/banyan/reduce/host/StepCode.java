package dev.banyan.reduce.host;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;

/** Steps as flat arrays: each is one copy or one combination, and then copies of its result. */
final class StepCode implements ChunkCode {
    /**
     * One step, before it is flattened.
     *
     * @param sources operands that are read
     * @param targets operands that are written, at least one
     * @param mean whether the result is divided
     */
    record Fused(List<Operand> sources, List<Operand> targets, boolean mean) {}

    /**
     * An operand.
     *
     * @param slot a buffer of the {@link Frame}, or -1 for its private memory
     * @param at first byte in the buffer of the chunk's first element; or the block of private memory
     */
    record Operand(int slot, long at) {}

    private final int elementBytes;
    private final int blockBytes;
    private final int divisor;
    private final int[] sources;
    private final boolean[] mean;
    /** Operands of step s: firstOperand[s] up to firstOperand[s + 1], sources first. */
    private final int[] firstOperand;
    private final int[] slots;
    private final long[] ats;
    private final int privateBlocks;
    private final int maxOperands;

    StepCode(List<Fused> steps, int elementBytes, int blockBytes, int divisor, int privateBlocks) {
        this.elementBytes = elementBytes;
        this.blockBytes = blockBytes;
        this.divisor = divisor;
        this.privateBlocks = privateBlocks;
        sources = steps.stream().mapToInt(step -> step.sources().size()).toArray();
        mean = new boolean[steps.size()];
        firstOperand = new int[steps.size() + 1];
        int most = 0;
        for (int s = 0; s < steps.size(); s++) {
            mean[s] = steps.get(s).mean();
            firstOperand[s + 1] = firstOperand[s] + sources[s] + steps.get(s).targets().size();
            most = Math.max(most, sources[s] + 1);
        }
        maxOperands = most;
        slots = new int[firstOperand[steps.size()]];
        ats = new long[slots.length];
        int o = 0;
        for (Fused step : steps) {
            for (List<Operand> side : List.of(step.sources(), step.targets())) {
                for (Operand operand : side) {
                    slots[o] = operand.slot();
                    ats[o++] = operand.at();
                }
            }
        }
    }

    /** Operands that a frame must have room for. */
    int maxOperands() {
        return maxOperands;
    }

    @Override
    public int privateBlocks() {
        return privateBlocks;
    }

    @Override
    public int streams() {
        return slots.length;
    }

    @Override
    public void run(Frame frame, long firstElement, int elements) {
        long delta = firstElement * elementBytes;
        long bytes = (long) elements * elementBytes;
        for (int s = 0; s < sources.length; s++) {
            int first = firstOperand[s];
            int target = first + sources[s];
            if (sources[s] > 1) {
                for (int o = first; o <= target; o++) {
                    frame.segments[o - first] = segment(frame, o);
                    frame.offsets[o - first] = offset(o, delta);
                }
                Objects.requireNonNull(frame.kernel)
                        .combine(frame.segments, frame.offsets, sources[s], elements, mean[s] ? divisor : 1);
                first = target++;
            }
            MemorySegment from = segment(frame, first);
            long fromOffset = offset(first, delta);
            for (int o = target; o < firstOperand[s + 1]; o++) {
                MemorySegment.copy(from, fromOffset, segment(frame, o), offset(o, delta), bytes);
            }
        }
    }

    private MemorySegment segment(Frame frame, int operand) {
        int slot = slots[operand];
        return slot < 0 ? frame.scratch : frame.buffers[slot];
    }

    private long offset(int operand, long delta) {
        long at = ats[operand];
        return slots[operand] < 0 ? at * blockBytes : at + delta;
    }
}
