package dev.banyan.mpi;

import static dev.banyan.mpi.WorldProgram.require;

import dev.banyan.config.Config;
import dev.banyan.kvstore.KVStore;
import dev.banyan.kvstore.Key;
import dev.banyan.kvstore.StoreType;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.reduce.internal.sum.SumBlock;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * Devices, dealt out to the processes: every process has the bits that one process computes from all inputs. Run with
 * BANYAN_REPRODUCIBLE=1.
 */
final class ReproducibleProgram {
    /** Several processes have the same number of devices each, or different ones. */
    private static final List<Integer> DEVICES = List.of(8, 7);

    private static final int COUNT = 2_500;
    /** Several pieces between the processes, the last one short. */
    private static final int LONG = 66_001;

    private final World world;
    private long cases;

    private ReproducibleProgram(World world) {
        this.world = world;
    }

    /** Returns the number of cases that passed. */
    static long run(World world) {
        ReproducibleProgram program = new ReproducibleProgram(world);
        DEVICES.forEach(program::hierarchy);
        program.group();
        program.stores();
        return program.cases;
    }

    private static Communicator communicator(int devices) {
        return Communicator.onHost(
                Machine.preset("p3.16xlarge").subset(IntStream.range(0, devices).toArray()),
                Config.builder().set(HostBackend.THREADS, 2).load());
    }

    private void hierarchy(int devices) {
        int first = devices * world.rank() / world.size();
        int end = devices * (world.rank() + 1) / world.size();
        try (Arena arena = Arena.ofShared();
                Communicator local = communicator(end - first);
                HierarchicalCommunicator communicator = HierarchicalCommunicator.create(world, local)) {
            for (DataType type : DataType.values()) {
                if (type.isFloating()) {
                    check(communicator, arena, devices, first, end, COUNT, type, ReduceOp.SUM);
                    check(communicator, arena, devices, first, end, 1025, type, ReduceOp.AVG);
                    check(communicator, arena, devices, first, end, 0, type, ReduceOp.SUM);
                }
            }
            check(communicator, arena, devices, first, end, LONG, DataType.F32, ReduceOp.SUM);
        }
    }

    private void check(
            HierarchicalCommunicator communicator,
            Arena arena,
            int devices,
            int first,
            int end,
            int count,
            DataType type,
            ReduceOp op) {
        List<MemorySegment> all = inputs(arena, devices, count, type);
        MemorySegment expected = sum(arena, all, count, type, op);
        List<MemorySegment> mine = all.subList(first, end);
        communicator.allReduce(mine, count, type, op);
        for (MemorySegment result : mine) {
            require(result.mismatch(expected) < 0, op + " of " + count + " " + type + " on " + devices + " devices");
        }
        cases++;
    }

    /** An array of each process. */
    private void group() {
        try (Arena arena = Arena.ofShared()) {
            for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.AVG)) {
                List<MemorySegment> all = inputs(arena, world.size(), COUNT, DataType.F32);
                MemorySegment expected = sum(arena, all, COUNT, DataType.F32, op);
                MemorySegment mine = all.get(world.rank());
                world.all().allReduce(mine, COUNT, DataType.F32, op);
                require(mine.mismatch(expected) < 0, op + " between processes");
                cases++;
            }
        }
    }

    private void stores() {
        try (Arena arena = Arena.ofShared();
                Communicator one = communicator(1);
                Communicator two = communicator(2)) {
            for (String type : List.of("funnel", "concum", "depcha")) {
                List<MemorySegment> all = inputs(arena, world.size(), COUNT, DataType.F32);
                MemorySegment expected = sum(arena, all, COUNT, DataType.F32, ReduceOp.SUM);
                List<MemorySegment> mine = List.of(all.get(world.rank()));
                try (KVStore store =
                        KVStore.builder(one).type(StoreType.of(type)).open()) {
                    store.init(Key.of(0), MemorySegment.ofArray(new float[COUNT]), COUNT, DataType.F32);
                    store.pushPull(Key.of(0), mine, mine).join();
                    store.waitAll();
                }
                require(mine.getFirst().mismatch(expected) < 0, "a sum in a store of type " + type);
                try {
                    KVStore.builder(two).type(StoreType.of(type)).open().close();
                    throw new AssertionError("not so: two devices are rejected");
                } catch (IllegalArgumentException e) {
                    require(
                            String.valueOf(e.getMessage()).contains("start a process for each device"),
                            "the message names a remedy: " + e.getMessage());
                }
                cases++;
            }
        }
    }

    /** Returns arrays of finite numbers of any exponent, part of which cancel. */
    private static List<MemorySegment> inputs(Arena arena, int devices, int count, DataType type) {
        List<MemorySegment> inputs = IntStream.range(0, devices)
                .mapToObj(_ -> arena.allocate((long) count * type.bytes(), 8))
                .toList();
        Random random = new Random(devices + count + type.bytes());
        for (int i = 0; i < count; i++) {
            double size = Math.scalb(
                    1.0, random.nextInt(type == DataType.F16 ? 30 : 240) - (type == DataType.F16 ? 18 : 120));
            double before = 0;
            for (int d = 0; d < devices; d++) {
                double value = d % 2 == 1 && i % 3 == 0
                        ? -before
                        : random.nextGaussian() * (i % 2 == 0 ? size : Math.scalb(size, -random.nextInt(40)));
                before = value;
                set(inputs.get(d), i, type, value);
            }
        }
        return inputs;
    }

    private static void set(MemorySegment array, int index, DataType type, double value) {
        float narrow = (float) value;
        switch (type) {
            case F32 -> array.setAtIndex(ValueLayout.JAVA_FLOAT, index, narrow);
            case F64 -> array.setAtIndex(ValueLayout.JAVA_DOUBLE, index, value);
            case F16 -> array.setAtIndex(ValueLayout.JAVA_SHORT, index, Float.floatToFloat16(narrow));
            case BF16 ->
                array.setAtIndex(ValueLayout.JAVA_SHORT, index, (short) (Float.floatToRawIntBits(narrow) >>> 16));
            case I8, U8, I32, I64 -> throw new IllegalStateException(type + " is no float");
        }
    }

    /** Returns the sum of all arrays by one process. */
    private static MemorySegment sum(Arena arena, List<MemorySegment> all, int count, DataType type, ReduceOp op) {
        MemorySegment result = arena.allocate((long) count * type.bytes(), 8);
        SumBlock sum = new SumBlock(new ReproducibleSum(type, all.size(), op == ReduceOp.AVG));
        for (int at = 0; at < count; at += SumBlock.LENGTH) {
            long offset = (long) at * type.bytes();
            sum.begin(Math.min(SumBlock.LENGTH, count - at));
            all.forEach(array -> sum.look(array, offset));
            all.forEach(array -> sum.add(array, offset));
            sum.round();
            sum.store(result, offset);
        }
        return result;
    }
}
