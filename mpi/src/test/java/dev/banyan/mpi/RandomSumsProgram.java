package dev.banyan.mpi;

import static dev.banyan.mpi.WorldProgram.require;

import dev.banyan.config.Config;
import dev.banyan.kvstore.KVStore;
import dev.banyan.kvstore.Key;
import dev.banyan.kvstore.StoreType;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * Random reproducible sums over ranks that are dealt out to the processes: joined ranks, hierarchies, groups and stores
 * give the bits of the definition, which each process computes number by number from the numbers of all.
 */
final class RandomSumsProgram {
    private static final List<Collective> COLLECTIVES =
            List.of(Collective.ALL_REDUCE, Collective.REDUCE, Collective.REDUCE_SCATTER);
    private static final List<DataType> TYPES = List.of(DataType.F32, DataType.F64, DataType.F16, DataType.BF16);
    private static final List<ReduceOp> SUMS = List.of(ReduceOp.SUM, ReduceOp.AVG);
    private static final List<ReduceOp> OPS = List.of(ReduceOp.SUM, ReduceOp.AVG, ReduceOp.MIN, ReduceOp.MAX);
    private static final List<Long> CHUNKS = List.of(Long.MAX_VALUE, 4096L, 64L << 10);
    private static final List<String> STORES = List.of("funnel", "concum", "depcha");
    private static final int CASES = 20;
    private static final int SHORT_BITS = 12;
    /** Messages between processes have pieces of 64 Ki elements. */
    private static final int LONG_BITS = 18;

    private static final int MOST_RANKS = 4;
    private static final List<Collective> ALL_REDUCE = List.of(Collective.ALL_REDUCE);

    private final World world;
    /** The same in all processes. */
    private final Random random;

    private RandomSumsProgram(World world, long seed) {
        this.world = world;
        random = new Random(seed);
    }

    /**
     * A reduction of arrays, one of each rank.
     *
     * @param all the input of each rank, in memory of the arena
     * @param expected the sums of all inputs
     */
    private record Case(
            Collective collective,
            int root,
            int count,
            DataType type,
            ReduceOp op,
            boolean inPlace,
            List<MemorySegment> all,
            byte[] expected,
            Arena arena) {
        int ranks() {
            return all.size();
        }

        void check(MemorySegment output, int first) {
            int bytes = count * type.bytes();
            MemorySegment sums = MemorySegment.ofArray(expected).asSlice((long) first * bytes, bytes);
            require(
                    output.asSlice(0, bytes).mismatch(sums) < 0,
                    collective + " of " + count + " " + type + " by " + op + " of " + ranks() + " ranks, in place "
                            + inPlace + ", has the bits of the definition");
        }
    }

    /**
     * Checks random cases.
     *
     * @param communicators how many have {@value #CASES} cases each
     * @return the number of cases
     */
    static long run(World world, int communicators, long seed) {
        RandomSumsProgram program = new RandomSumsProgram(world, seed);
        for (int c = 0; c < communicators; c++) {
            program.communicator(c);
        }
        program.severalDevicesOfAStoreAreRejected();
        return (long) communicators * CASES;
    }

    private void communicator(int index) {
        int[] held = IntStream.range(0, world.size())
                .map(_ -> 1 + random.nextInt(MOST_RANKS))
                .toArray();
        int first = IntStream.of(held).limit(world.rank()).sum();
        int end = first + held[world.rank()];
        Machine machine = Machine.preset("dgx-2")
                .subset(IntStream.range(0, IntStream.of(held).sum()).toArray());
        Config config = config();
        // Stores take the setting of the world.
        int ways = world.config().get(Algorithms.REPRODUCIBLE) ? 4 : 3;
        switch (index % ways) {
            case 0 -> {
                try (Communicator joined = Communicator.join(machine, config, end - first)) {
                    forEach(machine.size(), COLLECTIVES, OPS, each -> joined(joined, each));
                }
            }
            case 1 -> {
                int[] own = IntStream.range(first, end).toArray();
                try (Communicator local = Communicator.onHost(machine.subset(own), config);
                        HierarchicalCommunicator hierarchy = HierarchicalCommunicator.create(world, local)) {
                    forEach(machine.size(), ALL_REDUCE, OPS, each -> {
                        List<MemorySegment> buffers = each.all().subList(first, end);
                        hierarchy.allReduce(buffers, each.count(), each.type(), each.op());
                        buffers.forEach(buffer -> each.check(buffer, 0));
                    });
                }
            }
            case 2 ->
                forEach(machine.size(), ALL_REDUCE, SUMS, each -> {
                    List<MemorySegment> buffers = each.all().subList(first, end);
                    int divisor = each.op() == ReduceOp.AVG ? each.ranks() : 1;
                    world.all()
                            .reproducibleSumAsync("an array", buffers, each.count(), each.type(), each.ranks(), divisor)
                            .join();
                    buffers.forEach(buffer -> each.check(buffer, 0));
                });
            default -> {
                try (Communicator local = Communicator.onHost(machine.subset(0), config)) {
                    store(local);
                }
            }
        }
    }

    private Config config() {
        return Config.builder()
                .set(Algorithms.REPRODUCIBLE, true)
                .set(
                        Planner.ALGORITHM,
                        SizeRules.always(AlgorithmChoice.scheduled().get(random.nextInt(6))))
                .set(Planner.CHUNK_BYTES, CHUNKS.get(random.nextInt(CHUNKS.size())))
                .set(HostBackend.THREADS, 1 + random.nextInt(8))
                .set(KVStore.FUSION_BYTES, random.nextBoolean() ? 0L : 64L << 10)
                .load();
    }

    private void forEach(int ranks, List<Collective> collectives, List<ReduceOp> ops, Consumer<Case> way) {
        for (int i = 0; i < CASES; i++) {
            try (Arena arena = Arena.ofShared()) {
                Collective collective = collectives.get(random.nextInt(collectives.size()));
                way.accept(inputs(
                        collective,
                        ranks,
                        TYPES.get(random.nextInt(TYPES.size())),
                        ops.get(random.nextInt(ops.size())),
                        arena));
            }
        }
    }

    /** Returns a case with numbers of similar and of any exponents, special ones, and some that cancel. */
    private Case inputs(Collective collective, int ranks, DataType type, ReduceOp op, Arena arena) {
        int count = random.nextInt(1 + (1 << random.nextInt(random.nextInt(16) == 0 ? LONG_BITS : SHORT_BITS)));
        int root = collective.hasRoot() ? random.nextInt(ranks) : -1;
        int elements = (int) collective.inputElements(count, ranks);
        List<MemorySegment> all = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            MemorySegment input = arena.allocate((long) elements * type.bytes(), Long.BYTES);
            for (int i = 0; i < elements; i++) {
                long bits = random.nextLong();
                set(
                        input,
                        i,
                        type,
                        switch (i % 8) {
                            case 0 -> bits;
                            case 1 -> bits(type, bits % 64);
                            default -> bits(type, bits * 0x1p-63 * (i % 8));
                        });
            }
            all.add(input);
        }
        byte[] expected = expected(all, elements, type, op);
        Collections.shuffle(all, random);
        return new Case(collective, root, count, type, op, random.nextBoolean(), all, expected, arena);
    }

    private static void joined(Communicator communicator, Case each) {
        List<MemorySegment> inputs = new ArrayList<>();
        List<MemorySegment> outputs = new ArrayList<>();
        int first = communicator.firstRank();
        for (int rank = first; rank < first + communicator.ranksHeld(); rank++) {
            MemorySegment given = each.all().get(rank);
            inputs.add(
                    communicator.allocate(rank, given.byteSize(), each.arena()).copyFrom(given));
            if (each.inPlace()) {
                outputs.add(inputs.getLast());
            } else if (each.collective() != Collective.REDUCE || rank == each.root()) {
                outputs.add(
                        each.arena().allocate((long) each.count() * each.type().bytes(), Long.BYTES));
            }
        }
        CollectiveCall call =
                CollectiveCall.of(each.collective(), each.root(), each.count(), each.type(), each.op(), inputs);
        communicator.run(each.inPlace() ? call : call.into(outputs));
        for (int output = 0; output < outputs.size(); output++) {
            int rank = first + output;
            switch (each.collective()) {
                case REDUCE -> {
                    if (!each.inPlace() || rank == each.root()) {
                        each.check(outputs.get(output), 0);
                    }
                }
                case REDUCE_SCATTER -> {
                    long bytes = (long) each.count() * each.type().bytes();
                    each.check(outputs.get(output).asSlice(each.inPlace() ? rank * bytes : 0), rank);
                }
                default -> each.check(outputs.get(output), 0);
            }
        }
    }

    /** Sums keys over stores of one device in each process, which may fuse short ones. */
    private void store(Communicator local) {
        try (Arena arena = Arena.ofShared();
                KVStore store = KVStore.builder(local)
                        .type(StoreType.of(STORES.get(random.nextInt(STORES.size()))))
                        .open()) {
            List<Key> keys = new ArrayList<>();
            List<Case> cases = new ArrayList<>();
            List<List<MemorySegment>> mine = new ArrayList<>();
            for (int key = 0; key < CASES; key++) {
                Case each = inputs(Collective.ALL_REDUCE, world.size(), DataType.F32, ReduceOp.SUM, arena);
                keys.add(Key.of(key));
                cases.add(each);
                mine.add(List.of(each.all().get(world.rank())));
                store.init(keys.get(key), MemorySegment.ofArray(new float[each.count()]), each.count(), DataType.F32);
            }
            var _ = store.pushPullAll(keys, mine, mine, 0);
            store.waitAll();
            for (int key = 0; key < CASES; key++) {
                cases.get(key).check(mine.get(key).getFirst(), 0);
            }
        }
    }

    private void severalDevicesOfAStoreAreRejected() {
        try (Communicator two = Communicator.onHost(Machine.preset("dgx-2").subset(0, 1), config())) {
            for (String type : STORES) {
                try {
                    KVStore.builder(two).type(StoreType.of(type)).open().close();
                    throw new AssertionError("not so: two devices are rejected");
                } catch (IllegalArgumentException e) {
                    require(
                            String.valueOf(e.getMessage()).contains("start a process for each device"),
                            "the message names a remedy: " + e.getMessage());
                }
            }
        }
    }

    /** Returns the sums or means by the definition. */
    private static byte[] expected(List<MemorySegment> all, int elements, DataType type, ReduceOp op) {
        ReproducibleSum sum = new ReproducibleSum(type, all.size(), op == ReduceOp.AVG);
        MemorySegment result = MemorySegment.ofArray(new byte[elements * type.bytes()]);
        double[] numbers = new double[all.size()];
        for (int i = 0; i < elements; i++) {
            int code = 0;
            for (int rank = 0; rank < numbers.length; rank++) {
                numbers[rank] = number(all.get(rank), i, type);
                code = Math.max(code, sum.code(numbers[rank]));
            }
            long total = 0;
            for (double number : numbers) {
                total += sum.integer(number, code);
            }
            set(result, i, type, SUMS.contains(op) ? sum.result(total, code) : extreme(numbers, type, op));
        }
        return result.toArray(ValueLayout.JAVA_BYTE);
    }

    /** Returns the bits of the least or the greatest number, or of the one NaN. */
    private static long extreme(double[] numbers, DataType type, ReduceOp op) {
        double extreme = numbers[0];
        for (double number : numbers) {
            extreme = op == ReduceOp.MIN ? Math.min(extreme, number) : Math.max(extreme, number);
        }
        return Double.isNaN(extreme) ? Long.MAX_VALUE >>> Long.SIZE - type.bytes() * Byte.SIZE : bits(type, extreme);
    }

    private static double number(MemorySegment array, long i, DataType type) {
        return switch (type) {
            case F64 -> array.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, 8 * i);
            case F32 -> array.get(ValueLayout.JAVA_FLOAT_UNALIGNED, 4 * i);
            case F16 -> Float.float16ToFloat(array.get(ValueLayout.JAVA_SHORT_UNALIGNED, 2 * i));
            default -> Float.intBitsToFloat(array.get(ValueLayout.JAVA_SHORT_UNALIGNED, 2 * i) << 16);
        };
    }

    private static long bits(DataType type, double value) {
        return switch (type) {
            case F64 -> Double.doubleToRawLongBits(value);
            case F32 -> Float.floatToRawIntBits((float) value);
            case F16 -> Float.floatToFloat16((float) value);
            default -> Float.floatToRawIntBits((float) value) >>> 16;
        };
    }

    private static void set(MemorySegment array, long i, DataType type, long bits) {
        switch (type.bytes()) {
            case 8 -> array.set(ValueLayout.JAVA_LONG_UNALIGNED, 8 * i, bits);
            case 4 -> array.set(ValueLayout.JAVA_INT_UNALIGNED, 4 * i, (int) bits);
            default -> array.set(ValueLayout.JAVA_SHORT_UNALIGNED, 2 * i, (short) bits);
        }
    }
}
