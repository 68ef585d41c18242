package dev.banyan.mpi;

import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;

/** Plays machines of up to two processes each. */
final class MachinesProgram {
    private static final long[] COUNTS = {0, 1, 4099};
    /** A length of several pieces, the last one short. */
    private static final long LONG = (9 << 20) / Float.BYTES + 7;

    private static final int DEVICES = 2;

    /** The worlds of every run, of 2, 3, 4 and 4 processes, share out the types and operations. */
    private static final int ROUNDS = 3;

    private MachinesProgram() {}

    /**
     * Returns the number of cases that passed.
     *
     * @param machines to which the processes are dealt out
     */
    static long run(World world, int machines) {
        try (MpiProcesses all = new MpiProcesses(world, world.mpi().handle("ompi_mpi_comm_world")).duplicate()) {
            int machine = all.rank() * machines / all.size();
            int round = machines + all.size();
            return (long) arrays(world, all, machine, round) + devices(world, all, machine, round);
        }
    }

    private static int arrays(World world, MpiProcesses all, int machine, int round) {
        int cases = 0;
        try (MachineReduction reduction =
                Objects.requireNonNull(MachineReduction.create(world, all, all.split(machine)))) {
            for (Sample sample : Sample.ofRound(round, ROUNDS, all.size())) {
                if (sample.op() != ReduceOp.AVG) {
                    check(reduction, all, sample, sample.oneOf(COUNTS));
                    cases++;
                }
            }
            check(reduction, all, new Sample(DataType.F32, ReduceOp.SUM, all.size()), LONG);
        }
        return cases + 1;
    }

    /** Devices in host memory, two of each process. */
    private static int devices(World world, MpiProcesses all, int machine, int round) {
        int cases = 0;
        int devices = DEVICES * all.size();
        Machine pair = Machine.preset("p3.16xlarge").subset(0, 1);
        try (Communicator local = Communicator.onHost(pair, world.config());
                MachineDevices joined = Objects.requireNonNull(MachineDevices.join(
                        world,
                        all,
                        all.split(machine),
                        local,
                        leading -> new Between.Direct(List.of(leading), devices)))) {
            for (Sample sample : Sample.ofRound(round, ROUNDS, devices)) {
                if (!sample.isIntegerMean()) {
                    check(joined, all, sample, 4099);
                    cases++;
                }
            }
            check(joined, all, new Sample(DataType.F32, ReduceOp.AVG, devices), LONG);
            return cases + 1;
        }
    }

    private static void check(MachineDevices joined, MpiProcesses all, Sample sample, long count) {
        try (Arena arena = Arena.ofShared()) {
            long bytes = count * sample.type().bytes();
            List<MemorySegment> arrays = IntStream.range(0, DEVICES)
                    .mapToObj(_ -> arena.allocate(bytes))
                    .toList();
            for (int device = 0; device < DEVICES; device++) {
                sample.fill(arrays.get(device), all.rank() * DEVICES + device, count);
            }
            joined.run(CollectiveCall.allReduce(arrays, count, sample.type(), sample.op()));
            for (MemorySegment array : arrays) {
                if (sample.wrong(array, count) > 0) {
                    throw new IllegalStateException("wrong: " + sample + " of " + count + " over devices");
                }
            }
        }
    }

    private static void check(MachineReduction reduction, MpiProcesses all, Sample sample, long count) {
        try (Arena arena = Arena.ofShared()) {
            long bytes = count * sample.type().bytes();
            MemorySegment array = arena.allocate(bytes + Long.BYTES);
            array.set(ValueLayout.JAVA_LONG_UNALIGNED, bytes, -1);
            sample.fill(array, all.rank(), count);
            reduction.allReduce(array.asSlice(0, bytes), count, sample.type(), sample.op());
            if (sample.wrong(array, count) > 0 || array.get(ValueLayout.JAVA_LONG_UNALIGNED, bytes) != -1) {
                throw new IllegalStateException("wrong: " + sample + " of " + count);
            }
        }
    }
}
