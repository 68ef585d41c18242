package dev.banyan.mpi;

import dev.banyan.config.Config;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;

/** Plays machines of two processes each, and of one where their number is odd. */
final class MachinesProgram {
    /** Of several pieces, the last one short. */
    private static final long LONG = (9 << 20) / Float.BYTES + 7;

    private MachinesProgram() {}

    public static void main(String[] arguments) {
        MpiRun.printPid();
        try {
            World world = World.open(Config.load());
            MpiProcesses all = new MpiProcesses(world, world.mpi().handle("ompi_mpi_comm_world")).duplicate();
            int cases = 0;
            try (MachineReduction reduction =
                    Objects.requireNonNull(MachineReduction.create(world, all, all.split(all.rank() / 2)))) {
                for (DataType type : DataType.values()) {
                    for (ReduceOp op : ReduceOp.values()) {
                        for (long count : new long[] {0, 1, 4099}) {
                            if (op != ReduceOp.AVG) {
                                check(reduction, all, new Sample(type, op, all.size()), count);
                                cases++;
                            }
                        }
                    }
                }
                check(reduction, all, new Sample(DataType.F32, ReduceOp.SUM, all.size()), LONG);
                cases++;
            }
            all.close();
            world.finish();
            System.out.println("passed " + cases + " cases");
        } catch (Throwable e) {
            MpiRun.fail(e);
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
