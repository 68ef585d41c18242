package dev.banyan.reduce.internal.code;

import dev.banyan.reduce.backend.StepListener;
import dev.banyan.reduce.backend.StepListener.Computation;
import dev.banyan.reduce.backend.StepListener.Move;
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
     * @param senders the rank from which the schedule copies each target; for the first target, the rank that computes
     *     it
     * @param mean whether the result is divided
     */
    record Fused(List<Operand> sources, List<Operand> targets, List<Integer> senders, boolean mean) {}

    /**
     * An operand.
     *
     * @param slot a buffer of the {@link Frame}, or -1 for its private memory
     * @param at first byte in the buffer of the chunk's first element; or the block of private memory
     * @param rank the rank whose memory it is
     */
    record Operand(int slot, long at, int rank) {}

    private final List<Fused> steps;
    private final int elementBytes;
    private final int blockBytes;
    private final int divisor;
    private final int[] sources;
    private final boolean[] mean;
    /** Operands of step s: firstOperand[s] up to firstOperand[s + 1], sources first. */
    private final int[] firstOperand;

    private final int[] slots;
    private final long[] ats;
    /** The rank whose memory each operand is. */
    private final int[] ranks;
    /** The rank from which the schedule copies each written operand. */
    private final int[] senders;

    private final int privateBlocks;
    private final int maxOperands;

    StepCode(List<Fused> steps, int elementBytes, int blockBytes, int divisor, int privateBlocks) {
        this.steps = List.copyOf(steps);
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
            firstOperand[s + 1] =
                    firstOperand[s] + sources[s] + steps.get(s).targets().size();
            most = Math.max(most, sources[s] + 1);
        }
        maxOperands = most;
        slots = new int[firstOperand[steps.size()]];
        ats = new long[slots.length];
        ranks = new int[slots.length];
        senders = new int[slots.length];
        int o = 0;
        for (Fused step : steps) {
            int target = o + step.sources().size();
            for (int sender : step.senders()) {
                senders[target++] = sender;
            }
            for (List<Operand> side : List.of(step.sources(), step.targets())) {
                for (Operand operand : side) {
                    slots[o] = operand.slot();
                    ranks[o] = operand.rank();
                    ats[o++] = operand.at();
                }
            }
        }
    }

    List<Fused> steps() {
        return steps;
    }

    /** Returns the number of operands that a frame must hold. */
    int maxOperands() {
        return maxOperands;
    }

    @Override
    public long privateBytes() {
        return (long) privateBlocks * blockBytes;
    }

    @Override
    public int streams() {
        return slots.length;
    }

    @Override
    public void run(Frame frame, long firstElement, int elements) {
        long delta = firstElement * elementBytes;
        long bytes = (long) elements * elementBytes;
        StepListener listener = frame.listener;
        for (int s = 0; s < sources.length; s++) {
            int first = firstOperand[s];
            int target = first + sources[s];
            if (sources[s] > 1) {
                for (int o = first; o <= target; o++) {
                    frame.segments[o - first] = segment(frame, o);
                    frame.offsets[o - first] = offset(o, delta);
                }
                long begin = listener == null ? 0 : System.nanoTime();
                Objects.requireNonNull(frame.kernel)
                        .combine(frame.segments, frame.offsets, sources[s], elements, mean[s] ? divisor : 1);
                if (listener != null) {
                    tellCombined(listener, frame, s, bytes, begin);
                }
                first = target++;
            }
            MemorySegment from = segment(frame, first);
            long fromOffset = offset(first, delta);
            for (int o = target; o < firstOperand[s + 1]; o++) {
                long begin = listener == null ? 0 : System.nanoTime();
                MemorySegment.copy(from, fromOffset, segment(frame, o), offset(o, delta), bytes);
                if (listener != null) {
                    tellCopied(listener, frame, s, o, bytes, begin);
                }
            }
        }
    }

    private void tellCombined(StepListener listener, Frame frame, int step, long bytes, long begin) {
        long end = System.nanoTime();
        int target = firstOperand[step] + sources[step];
        for (int o = firstOperand[step]; o < target; o++) {
            if (ranks[o] != ranks[target]) {
                listener.moved(new Move(frame.run, frame.chunk, step, ranks[o], ranks[target], bytes, begin, end));
            }
        }
        listener.computed(
                new Computation(frame.run, frame.chunk, step, ranks[target], (sources[step] + 1) * bytes, begin, end));
    }

    private void tellCopied(StepListener listener, Frame frame, int step, int target, long bytes, long begin) {
        long end = System.nanoTime();
        if (senders[target] == ranks[target]) {
            listener.computed(new Computation(frame.run, frame.chunk, step, ranks[target], 2 * bytes, begin, end));
        } else {
            listener.moved(new Move(frame.run, frame.chunk, step, senders[target], ranks[target], bytes, begin, end));
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
