package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.memory.BufferAccess;
import dev.banyan.cuda.internal.memory.JointMemory;
import dev.banyan.cuda.internal.program.LaunchPlan;
import dev.banyan.cuda.internal.program.ProgramPlan;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.internal.ptx.ProgramStatus;
import dev.banyan.schedule.Space;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An exchange in the memory of its devices.
 *
 * @param name of the collective and the algorithm, for messages
 * @param kernel what runs it
 * @param parts what each device has of it
 * @param uses of buffers of this process, and the end of what is touched in bytes from a buffer's begin
 * @param joint memory of all processes, where others hold ranks
 * @param multicast the spaces whose multicast addresses the kernel takes behind the addresses of the ranks
 * @param threads of a block
 * @param barriers the most that a block passes
 * @param takesAny whether it takes buffers that are not open to all devices
 */
record ExchangePlan(
        String name,
        Kernel kernel,
        List<ProgramPlan.Part> parts,
        Map<BufferAccess.Use, Long> uses,
        @Nullable JointMemory joint,
        Set<Space> multicast,
        int threads,
        long barriers,
        boolean takesAny)
        implements LaunchPlan {
    /**
     * {@inheritDoc} Unless it takes any, all buffers must be open to all devices, and in the same places if the switch
     * takes part.
     */
    @Override
    public @Nullable Addresses addresses(BufferAccess access, long[] inputs, long[] outputs) {
        if (joint != null) {
            return handles(joint, inputs, outputs);
        }
        if (!takesAny && !access.areOpen(uses, inputs, outputs)) {
            return null;
        }
        if (multicast.isEmpty()) {
            return new Addresses(inputs, outputs);
        }
        long[] in = Arrays.copyOf(inputs, inputs.length + 1);
        long[] out = Arrays.copyOf(outputs, outputs.length + 1);
        for (Space space : multicast) {
            long[] addresses = space == Space.INPUT ? in : out;
            long address = access.multicast(space == Space.INPUT ? inputs : outputs);
            if (address == 0 || address % ExchangeTable.WORD_BYTES != 0) {
                return null;
            }
            addresses[addresses.length - 1] = address;
        }
        return new Addresses(in, out);
    }

    /** Returns handles, and behind them multicast addresses, which the kernel takes if it finds all buffers alike. */
    private @Nullable Addresses handles(JointMemory memory, long[] inputs, long[] outputs) {
        int ranks = inputs.length;
        int length = multicast.isEmpty() ? ranks : ranks + 1;
        Addresses handles = new Addresses(new long[length], new long[length]);
        boolean areInPlace = true;
        for (Map.Entry<BufferAccess.Use, Long> used : uses.entrySet()) {
            BufferAccess.Use use = used.getKey();
            long handle = memory.handle(use.rank(), use.address(inputs, outputs), used.getValue());
            if (handle < 0 && !takesAny) {
                return null;
            }
            long[] ofSpace = use.space() == Space.INPUT ? handles.inputs() : handles.outputs();
            ofSpace[use.rank()] = handle < 0 ? use.address(inputs, outputs) | JointMemory.FOREIGN : handle;
            if (multicast.contains(use.space())) {
                ofSpace[ranks] = handle < 0 ? 0 : memory.multicast(handle);
                areInPlace &= ofSpace[ranks] != 0 && ofSpace[ranks] % ExchangeTable.WORD_BYTES == 0;
            }
        }
        if (!areInPlace) {
            handles.inputs()[ranks] = 0;
            handles.outputs()[ranks] = 0;
        }
        return handles;
    }

    /** {@inheritDoc} One for each barrier. */
    @Override
    public long values() {
        return barriers;
    }

    @Override
    public boolean usesScratch() {
        return false;
    }

    @Override
    public boolean takesLinesOnce() {
        return false;
    }

    @Override
    public boolean synchronizes() {
        return true;
    }

    @Override
    public boolean isEmpty() {
        return false;
    }

    @Override
    public String describe(ProgramStatus status) {
        return "rank " + status.channel() + " at rank " + status.slice()
                + switch (status.loop()) {
                    case 0 -> " before it loads";
                    case ExchangeTable.Share.DIRECT -> " behind its last store";
                    case ExchangeTable.Share.COPY_IN -> " behind its copy of a slice";
                    default -> " behind its last store of a slice";
                };
    }
}
