package dev.banyan.mpi;

import static dev.banyan.mpi.WorldProgram.require;

import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/** Runs every type and operation by all algorithms between the processes, with one and several devices in each. */
final class MatrixProgram {
    private static final long[] COUNTS = {0, 1, 17, 4099};
    /** Several pieces, the last one short. */
    private static final long LONG = (9 << 20) / Float.BYTES + 7;

    /** Hierarchies of several devices if not all are run. */
    private static final int ROUNDS = 3;

    private final World world;
    private final boolean full;
    private int hierarchies;
    private long cases;

    private MatrixProgram(World world, boolean full) {
        this.world = world;
        this.full = full;
    }

    /**
     * Returns the number of cases that passed.
     *
     * @param full whether there are more hierarchies, each of which reduces all lengths of each type by each operation;
     *     if not, those of several devices share out the types and operations
     */
    static long run(World world, boolean full) {
        MatrixProgram program = new MatrixProgram(world, full);
        program.processes();
        for (int devices : full ? new int[] {1, 2, 4} : new int[] {1, 3}) {
            program.hierarchy(devices, Leaders.ONE, false);
            if (devices > 1) {
                program.hierarchy(devices, Leaders.EACH, false);
                program.hierarchy(devices, Leaders.AUTO, world.sharesMemory());
            }
        }
        program.uneven();
        return program.cases;
    }

    /** The collectives of the groups. */
    private void processes() {
        ProcessGroup all = world.all();
        int size = all.size();
        try (Arena arena = Arena.ofConfined();
                ProcessGroup twin = all.duplicate()) {
            require(world.sameMachine().size() == size, "all are on one machine");
            require(twin.rank() == all.rank() && twin.size() == size, "a duplicate is alike");
            MemorySegment array = arena.allocate(ValueLayout.JAVA_INT, 3);
            array.setAtIndex(ValueLayout.JAVA_INT, 1, all.rank() + 1);
            twin.broadcast("an array", array, 3, DataType.I32, size - 1);
            require(array.getAtIndex(ValueLayout.JAVA_INT, 1) == size, "the last one's number");
            array.setAtIndex(ValueLayout.JAVA_INT, 2, all.rank());
            all.allReduce(array, 3, DataType.I32, ReduceOp.MAX);
            require(array.getAtIndex(ValueLayout.JAVA_INT, 2) == size - 1, "the greatest rank");
            all.barrier();
            // The block closes it a second time, which is no error.
            List.of(twin).forEach(ProcessGroup::close);
        }
    }

    private void hierarchy(int devices, Leaders leaders, boolean joins) {
        Config config = Config.builder()
                .set(HostBackend.THREADS, 2)
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.STAR))
                .load();
        try (Arena arena = Arena.ofShared();
                Communicator local = Communicator.onHost(
                        Machine.preset("p3.16xlarge")
                                .subset(IntStream.range(0, devices).toArray()),
                        config);
                HierarchicalCommunicator communicator =
                        new HierarchicalCommunicator(world, local, leaders, false, joins)) {
            require(communicator.devices() == devices * world.size(), "devices of all processes");
            require(communicator.joinsDevices() == joins, "the devices are joined: " + joins);
            List<MemorySegment> memory = IntStream.range(0, devices)
                    .mapToObj(_ -> arena.allocate(LONG * Float.BYTES + Long.BYTES))
                    .toList();
            // One device makes no plans, which are what takes time.
            int rounds = full || devices == 1 ? 1 : ROUNDS;
            for (Sample sample : Sample.ofRound(hierarchies, rounds, communicator.devices())) {
                for (long count : full ? COUNTS : new long[] {sample.oneOf(COUNTS)}) {
                    exact(communicator, memory, count, sample.type(), sample.op());
                }
            }
            hierarchies++;
            exact(communicator, memory, LONG, DataType.F32, ReduceOp.SUM);
            alike(communicator, memory);
            if (joins) {
                refusesWhatDiffers(communicator, memory);
                exact(communicator, memory, 17, DataType.F32, ReduceOp.SUM);
            }
            // The block closes it a second time, which is no error.
            List.of(communicator).forEach(HierarchicalCommunicator::close);
        }
    }

    /** Calls of other lengths fail in all processes, and break nothing. */
    private void refusesWhatDiffers(HierarchicalCommunicator communicator, List<MemorySegment> memory) {
        try {
            communicator.allReduce(memory, 1 + world.rank(), DataType.F32, ReduceOp.SUM);
        } catch (OrderException e) {
            return;
        }
        throw new IllegalStateException("calls that differ have passed");
    }

    /** A device more in every other process. */
    private void uneven() {
        int devices = 1 + world.rank() % 2;
        int before = IntStream.range(0, world.rank()).map(rank -> 1 + rank % 2).sum();
        try (Arena arena = Arena.ofShared();
                Communicator local = Communicator.onHost(
                        Machine.preset("p3.16xlarge")
                                .subset(IntStream.range(0, devices).toArray()),
                        Config.builder().set(HostBackend.THREADS, 2).load());
                HierarchicalCommunicator communicator =
                        new HierarchicalCommunicator(world, local, Leaders.EACH, false, world.sharesMemory())) {
            List<MemorySegment> memory = IntStream.range(0, devices)
                    .mapToObj(_ -> arena.allocate(LONG * Float.BYTES + Long.BYTES))
                    .toList();
            exact(communicator, memory, before, LONG, DataType.F32, ReduceOp.SUM);
            exact(communicator, memory, before, 17, DataType.I64, ReduceOp.AVG);
        }
    }

    private void exact(
            HierarchicalCommunicator communicator, List<MemorySegment> memory, long count, DataType type, ReduceOp op) {
        exact(communicator, memory, world.rank() * memory.size(), count, type, op);
    }

    /** @param before devices of the processes before this one */
    private void exact(
            HierarchicalCommunicator communicator,
            List<MemorySegment> memory,
            int before,
            long count,
            DataType type,
            ReduceOp op) {
        Sample sample = new Sample(type, op, communicator.devices());
        int devices = memory.size();
        // One element behind where vectors begin.
        List<MemorySegment> buffers = memory.stream()
                .map(buffer -> buffer.asSlice(type.bytes(), count * type.bytes()))
                .toList();
        for (int device = 0; device < devices; device++) {
            sample.fill(buffers.get(device), before + device, count);
        }
        communicator.allReduce(buffers, count, type, op);
        long wrong = sample.wrong(buffers.getFirst(), count);
        require(wrong == 0, wrong + " wrong of " + count + " " + type + " by " + op + ", " + devices + " devices");
        for (MemorySegment buffer : buffers) {
            require(buffer.mismatch(buffers.getFirst()) < 0, type + " by " + op + ": all devices have the same");
        }
        cases++;
    }

    /** Random floats: the same bits on all devices of all processes, and near the sum. */
    private void alike(HierarchicalCommunicator communicator, List<MemorySegment> memory) {
        int count = 10_007;
        double[] expected = new double[count];
        for (int device = 0; device < communicator.devices(); device++) {
            Random random = new Random(device);
            int mine = device - world.rank() * memory.size();
            for (int i = 0; i < count; i++) {
                float value = random.nextFloat(-1, 1);
                expected[i] += value;
                if (mine >= 0 && mine < memory.size()) {
                    memory.get(mine).setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
                }
            }
        }
        communicator.allReduce(memory, count, DataType.F32, ReduceOp.SUM);
        long[] hashes = new long[memory.size()];
        for (int device = 0; device < memory.size(); device++) {
            for (int i = 0; i < count; i++) {
                float value = memory.get(device).getAtIndex(ValueLayout.JAVA_FLOAT, i);
                require(Math.abs(value - expected[i]) < 1e-5, "sum " + value + " of " + expected[i]);
                hashes[device] = 31 * hashes[device] + Float.floatToRawIntBits(value);
            }
        }
        try (Arena arena = Arena.ofConfined()) {
            for (long hash : hashes) {
                MemorySegment both = arena.allocateFrom(ValueLayout.JAVA_LONG, hash, ~hash);
                world.all().allReduce(both, 2, DataType.I64, ReduceOp.MAX);
                require(
                        both.getAtIndex(ValueLayout.JAVA_LONG, 0) == ~both.getAtIndex(ValueLayout.JAVA_LONG, 1),
                        "the same bits in all processes");
                require(hash == hashes[0], "the same bits on all devices");
            }
        }
        cases++;
    }
}
