package dev.banyan.reduce.internal.code;

import dev.banyan.reduce.internal.code.StepCode.Operand;
import dev.banyan.reduce.internal.kernel.VectorLanes;
import dev.banyan.reduce.internal.loop.FusedLoop;
import dev.banyan.reduce.internal.loop.LoopGenerator;
import dev.banyan.reduce.internal.loop.LoopShape;
import java.util.List;

/**
 * Fused loops, one after another. They work on addresses: the owners of buffers keep them open during a run, and {@link
 * Program#setBuffers} checks lengths.
 */
public final class FusedCode implements ChunkCode {
    private final FusedLoop[] loops;
    /** Operands of loop l: firstOperand[l] up to firstOperand[l + 1]. */
    private final int[] firstOperand;
    /** The first output of each loop. */
    private final int[] firstOutput;
    /** The first operand of each loop that it does not read. */
    private final int[] inputsEnd;

    private final int[] slots;
    private final long[] ats;
    private final int elementBytes;
    private final int widening;
    /** Length of a block of private memory. */
    private final long privateBlockBytes;

    private final int divisor;
    private final int privateBlocks;

    /** @param widening how many times as long as the elements those in private memory are */
    public FusedCode(
            List<Fusion.Pass> passes, int elementBytes, int widening, int blockBytes, int divisor, int privateBlocks) {
        this.elementBytes = elementBytes;
        this.widening = widening;
        privateBlockBytes = Math.ceilDiv(blockBytes, FusedLoop.UNIT) * (long) FusedLoop.UNIT * widening;
        this.divisor = divisor;
        this.privateBlocks = privateBlocks;
        loops = new FusedLoop[passes.size()];
        firstOperand = new int[loops.length + 1];
        firstOutput = new int[loops.length];
        inputsEnd = new int[loops.length];
        for (int l = 0; l < loops.length; l++) {
            LoopShape shape = passes.get(l).shape();
            loops[l] = LoopGenerator.loop(shape);
            inputsEnd[l] = firstOperand[l] + shape.inputs();
            firstOutput[l] = shape.inPlace() ? firstOperand[l] : inputsEnd[l];
            firstOperand[l + 1] = firstOperand[l] + passes.get(l).operands().size();
        }
        List<Operand> operands =
                passes.stream().flatMap(pass -> pass.operands().stream()).toList();
        slots = operands.stream().mapToInt(Operand::slot).toArray();
        ats = operands.stream().mapToLong(Operand::at).toArray();
    }

    public List<FusedLoop> loops() {
        return List.of(loops);
    }

    @Override
    public long privateBytes() {
        return privateBlocks * privateBlockBytes;
    }

    @Override
    public int streams() {
        int streams = 0;
        for (int l = 0; l < loops.length; l++) {
            streams += inputsEnd[l] - firstOperand[l] + firstOperand[l + 1] - firstOutput[l];
        }
        return streams;
    }

    @Override
    public long place() {
        long place = -1;
        for (int o = 0; o < slots.length; o++) {
            if (slots[o] >= 0) {
                if (place >= 0 && ats[o] != place) {
                    return -1;
                }
                place = ats[o];
            }
        }
        return place;
    }

    @Override
    public void extend(long[] extents, long bytes) {
        for (int o = 0; o < slots.length; o++) {
            if (slots[o] >= 0) {
                extents[slots[o]] = Math.max(extents[slots[o]], ats[o] + bytes);
            }
        }
    }

    @Override
    public void run(Frame frame, long firstElement, int elements) {
        long delta = firstElement * elementBytes;
        int bytes = elements * elementBytes;
        int whole = bytes - bytes % FusedLoop.UNIT;
        long[] addresses = frame.addresses;
        for (int l = 0; l < loops.length; l++) {
            int first = firstOperand[l];
            int end = firstOperand[l + 1];
            for (int o = first; o < end; o++) {
                addresses[FusedLoop.MARGIN + o - first] = slots[o] < 0
                        ? frame.scratchAddress + ats[o] * privateBlockBytes
                        : frame.addressOf[slots[o]] + ats[o] + delta;
            }
            if (whole > 0) {
                loops[l].run(addresses, whole, divisor);
            }
            if (whole < bytes) {
                runRest(frame, l, whole, bytes - whole);
            }
        }
    }

    /** Runs a loop on elements that do not fill a unit, in copies of them. Private memory has room for the unit. */
    private void runRest(Frame frame, int loop, long at, int bytes) {
        long[] copies = frame.restAddresses;
        int first = firstOperand[loop] - FusedLoop.MARGIN;
        for (int o = firstOperand[loop]; o < inputsEnd[loop]; o++) {
            long address = frame.addresses[o - first];
            if (slots[o] < 0) {
                VectorLanes.copy(address + at * widening, copies[o - first], (long) FusedLoop.UNIT * widening);
            } else {
                VectorLanes.copy(address + at, copies[o - first], bytes);
            }
        }
        loops[loop].run(copies, FusedLoop.UNIT, divisor);
        for (int o = firstOutput[loop]; o < firstOperand[loop + 1]; o++) {
            long address = frame.addresses[o - first];
            if (slots[o] < 0) {
                VectorLanes.copy(copies[o - first], address + at * widening, (long) FusedLoop.UNIT * widening);
            } else {
                VectorLanes.copy(copies[o - first], address + at, bytes);
            }
        }
    }
}
