package dev.banyan.cli.bench;

import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.type.Collective;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Calls on buffers of a communicator's devices, with the host's copies of them, by which what is put in and what
 * comes out is checked.
 */
final class DeviceCalls {
    /** Every bit set: no number of a floating-point type, so that an element that is left out is seen. */
    private static final byte POISON = -1;

    private final Communicator communicator;
    private final int ranks;
    private final Mirrored first;
    private final Mirrored second;
    private long phase;

    /**
     * @param arena what the host's copies belong to
     * @param bytes greatest length of a buffer
     */
    DeviceCalls(Communicator communicator, Arena arena, long bytes) {
        this.communicator = communicator;
        ranks = communicator.size();
        first = new Mirrored(arena, bytes);
        second = new Mirrored(arena, bytes);
    }

    /** A call out of place. */
    CollectiveCall apart(Call call, long count, int shift) {
        return call.outOfPlace(
                count,
                first.devices(shift, call.inputBytes(count)),
                second.devices(shift, call.outputBytes(count)));
    }

    /** A call in place. */
    CollectiveCall together(Call call, long count, int shift) {
        return call.inPlace(count, second.devices(shift, call.size(count)));
    }

    /** Runs a call out of place, and counts wrong elements. */
    long checkApart(Call call, long count, int shift, ReferenceCheck check) {
        phase += 7_919;
        for (int rank = 0; rank < ranks; rank++) {
            check.fill(first.host(rank, shift, call.inputBytes(count)), rank, 0, phase);
            second.host(rank, shift, call.outputBytes(count)).fill(POISON);
        }
        first.write(shift, call.inputBytes(count));
        second.write(shift, call.outputBytes(count));
        communicator.run(apart(call, count, shift));
        first.read(shift, call.inputBytes(count));
        second.read(shift, call.outputBytes(count));
        return IntStream.range(0, ranks)
                .mapToLong(rank -> check.changed(first.host(rank, shift, call.inputBytes(count)), rank, 0, phase)
                        + wrong(call, check, second.host(rank, shift, call.outputBytes(count)), rank, count))
                .sum();
    }

    /** Runs a call in place, and counts wrong elements. */
    long checkTogether(Call call, long count, int shift, ReferenceCheck check) {
        phase += 7_919;
        long bytes = call.size(count);
        long inputBytes = call.inputBytes(count);
        long outputBytes = call.outputBytes(count);
        for (int rank = 0; rank < ranks; rank++) {
            MemorySegment buffer = second.host(rank, shift, bytes);
            buffer.fill(POISON);
            if (call.hasInput(rank)) {
                long at = call.collective() == Collective.ALL_GATHER ? rank * inputBytes : 0;
                check.fill(buffer.asSlice(at, inputBytes), rank, 0, phase);
            }
        }
        second.write(shift, bytes);
        communicator.run(together(call, count, shift));
        second.read(shift, bytes);
        return IntStream.range(0, ranks)
                .mapToLong(rank -> {
                    long at = call.collective() == Collective.REDUCE_SCATTER ? rank * outputBytes : 0;
                    return wrong(call, check, second.host(rank, shift, bytes).asSlice(at, outputBytes), rank, count);
                })
                .sum();
    }

    private long wrong(Call call, ReferenceCheck check, MemorySegment output, int rank, long count) {
        return call.hasOutput(rank) ? check.wrong(call.collective(), output, rank, call.root(), count, phase) : 0;
    }

    /** A buffer per rank, and the host's copy of it. */
    private final class Mirrored {
        private final List<MemorySegment> host = new ArrayList<>();
        private final List<MemorySegment> device = new ArrayList<>();

        Mirrored(Arena arena, long bytes) {
            for (int rank = 0; rank < ranks; rank++) {
                host.add(arena.allocate(bytes, 64));
                device.add(communicator.allocate(rank, bytes));
            }
        }

        MemorySegment host(int rank, long shift, long bytes) {
            return host.get(rank).asSlice(shift, bytes);
        }

        MemorySegment[] devices(long shift, long bytes) {
            return device.stream().map(buffer -> buffer.asSlice(shift, bytes)).toArray(MemorySegment[]::new);
        }

        void write(long shift, long bytes) {
            for (int rank = 0; rank < ranks; rank++) {
                communicator.write(device.get(rank).asSlice(shift, bytes), host(rank, shift, bytes));
            }
        }

        void read(long shift, long bytes) {
            for (int rank = 0; rank < ranks; rank++) {
                communicator.read(device.get(rank).asSlice(shift, bytes), host(rank, shift, bytes));
            }
        }
    }
}
