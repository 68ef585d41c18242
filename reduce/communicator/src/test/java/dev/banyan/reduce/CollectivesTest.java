package dev.banyan.reduce;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.test.CoveringArray;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every collective, type, operation and placement against a 64-bit (or exact integer) reference. */
class CollectivesTest {
    private static final int GUARD = 64;
    private static final byte GUARD_BYTE = 0x5a;
    private static final MemorySegment UNTOUCHED =
            MemorySegment.ofArray(new byte[4 * GUARD]).fill(GUARD_BYTE);
    private static final List<AlgorithmChoice> CHOICES = Stream.concat(
                    Stream.of(AlgorithmChoice.AUTO), AlgorithmChoice.scheduled().stream())
            .toList();
    /** The bound above which the automatic choice takes packed trees instead of one tree. */
    private static final long ARRAY_BOUND = 500;

    private final SplittableRandom random = new SplittableRandom(20);

    private static final int[] RANKS = {1, 2, 3, 5, 8};
    private static final long[] COUNTS = {0, 1, 7, 8, 9, 1000, 4097};

    /** Every two values of two parameters meet in a case. */
    @Test
    void everyTwoPropertiesOfACallGoTogether() {
        Collective[] collectives = Collective.values();
        DataType[] types = DataType.values();
        ReduceOp[] ops = ReduceOp.values();
        List<List<Communicator>> communicators =
                IntStream.of(RANKS).mapToObj(CollectivesTest::communicators).toList();
        for (int[] each : CoveringArray.ofPairs(
                types.length, ops.length, collectives.length, CHOICES.size(), COUNTS.length, RANKS.length, 2, 2)) {
            Collective collective = collectives[each[2]];
            int choice = each[3];
            new Case(
                            communicators.get(each[5]).get(choice),
                            CHOICES.get(choice),
                            collective,
                            types[each[0]],
                            collective.reduces() ? ops[each[1]] : ReduceOp.SUM,
                            each[6] == 0,
                            COUNTS[each[4]],
                            each[7] == 0)
                    .check();
        }
        communicators.stream().flatMap(List::stream).forEach(Communicator::close);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5, 8})
    void everyTypeAndOperationIsRight(int ranks) {
        check(ranks, Collective.ALL_REDUCE, 1000);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5, 8})
    @Tag("soak")
    void everyKindOfCallIsRight(int ranks) {
        for (Collective collective : Collective.values()) {
            check(ranks, collective, COUNTS);
        }
    }

    private void check(int ranks, Collective collective, long... counts) {
        List<Communicator> communicators = communicators(ranks);
        int turn = 0;
        for (DataType type : DataType.values()) {
            for (ReduceOp op : collective.reduces() ? ReduceOp.values() : new ReduceOp[] {ReduceOp.SUM}) {
                for (boolean inPlace : new boolean[] {true, false}) {
                    for (long count : counts) {
                        int choice = turn++ % CHOICES.size();
                        new Case(
                                        communicators.get(choice),
                                        CHOICES.get(choice),
                                        collective,
                                        type,
                                        op,
                                        inPlace,
                                        count,
                                        turn % 3 == 0)
                                .check();
                    }
                }
            }
        }
        communicators.forEach(Communicator::close);
    }

    @Test
    void longArraysAreRight() {
        List<Communicator> communicators = communicators(3);
        ReduceOp[] ops = ReduceOp.values();
        int turn = 0;
        for (Collective collective : Collective.values()) {
            for (DataType type : List.of(DataType.F32, DataType.BF16, DataType.U8, DataType.I64)) {
                int choice = turn % CHOICES.size();
                ReduceOp op = collective.reduces() ? ops[turn % ops.length] : ReduceOp.SUM;
                boolean inPlace = turn % 2 == 0;
                Communicator communicator = communicators.get(choice);
                new Case(communicator, CHOICES.get(choice), collective, type, op, inPlace, 100_003, false).check();
                turn++;
            }
        }
        communicators.forEach(Communicator::close);
    }

    /** One for each of the choices. */
    private static List<Communicator> communicators(int ranks) {
        Machine machine =
                Machine.preset("p3.16xlarge").subset(IntStream.range(0, ranks).toArray());
        return CHOICES.stream()
                .map(choice -> Communicator.onHost(
                        machine,
                        Config.builder()
                                .set(Planner.ALGORITHM, SizeRules.always(choice))
                                .set(Planner.TREE_ARRAY_BOUND, ARRAY_BOUND)
                                .set(HostBackend.THREADS, 2)
                                .build()))
                .toList();
    }

    /** One call and all that must hold of it. */
    private final class Case {
        private final Communicator communicator;
        private final String name;
        private final Collective collective;
        private final DataType type;
        private final ReduceOp op;
        private final boolean inPlace;
        private final long count;
        private final boolean async;
        private final int ranks;
        private final int root;
        private final List<MemorySegment> guards = new ArrayList<>();

        Case(
                Communicator communicator,
                AlgorithmChoice choice,
                Collective collective,
                DataType type,
                ReduceOp op,
                boolean inPlace,
                long count,
                boolean async) {
            this.communicator = communicator;
            this.collective = collective;
            this.type = type;
            this.op = op;
            this.inPlace = inPlace;
            this.count = count;
            this.async = async;
            ranks = communicator.size();
            root = collective.hasRoot() ? random.nextInt(ranks) : -1;
            name = choice + " " + collective + " " + type + " " + op + " inPlace=" + inPlace + " n=" + ranks + " count="
                    + count + " root=" + root;
        }

        void check() {
            try (Arena arena = Arena.ofShared()) {
                long inputElements = collective.inputElements(count, ranks);
                long outputElements = collective.outputElements(count, ranks);
                long elements = inPlace ? Math.max(inputElements, outputElements) : inputElements;
                List<MemorySegment> inputs = new ArrayList<>();
                List<MemorySegment> copies = new ArrayList<>();
                for (int r = 0; r < ranks; r++) {
                    MemorySegment input = guarded(arena, elements, r);
                    Elements.fill(input, 0, elements, type, random);
                    inputs.add(input);
                    copies.add(arena.allocate(Math.max(1, input.byteSize())).copyFrom(input));
                }
                List<MemorySegment> outputs = inputs;
                if (!inPlace) {
                    outputs = new ArrayList<>();
                    for (int r = 0; r < ranks; r++) {
                        outputs.add(guarded(arena, outputElements, 3 * r));
                    }
                }
                CollectiveCall call = call(inputs, outputs);
                if (async) {
                    communicator.runAsync(call).join();
                } else {
                    communicator.run(call);
                }
                checkGuards();
                for (int r = 0; r < ranks; r++) {
                    if (!inPlace) {
                        assertThat(copies.get(r)
                                        .asSlice(0, inputs.get(r).byteSize())
                                        .mismatch(inputs.get(r)))
                                .as("input of rank %d of %s", r, name)
                                .isEqualTo(-1);
                    }
                    if (collective != Collective.REDUCE || r == root) {
                        checkResult(r, copies, outputs.get(r));
                    }
                    if (inPlace) {
                        checkRestIsUntouched(r, copies.get(r), outputs.get(r));
                    }
                }
            }
        }

        /** In place too, only results are written. */
        private void checkRestIsUntouched(int rank, MemorySegment before, MemorySegment after) {
            long block = count * type.bytes();
            long from;
            long to;
            if (collective == Collective.REDUCE_SCATTER) {
                from = rank * block;
                to = from + block;
            } else {
                from = 0;
                to = collective == Collective.REDUCE && rank != root ? 0 : after.byteSize();
            }
            assertThat(MemorySegment.mismatch(before, 0, from, after, 0, from)
                            & MemorySegment.mismatch(before, to, after.byteSize(), after, to, after.byteSize()))
                    .as("what is no result of rank %d of %s", rank, name)
                    .isEqualTo(-1);
        }

        private CollectiveCall call(List<MemorySegment> inputs, List<MemorySegment> outputs) {
            if (inPlace) {
                return CollectiveCall.of(collective, root, count, type, op, inputs);
            }
            return CollectiveCall.of(
                            collective,
                            root,
                            count,
                            type,
                            op,
                            collective == Collective.BROADCAST ? List.of(inputs.get(root)) : inputs)
                    .into(collective == Collective.REDUCE ? List.of(outputs.get(root)) : outputs);
        }

        private void checkResult(int rank, List<MemorySegment> inputs, MemorySegment output) {
            long width = type.bytes();
            switch (collective) {
                case ALL_REDUCE, REDUCE -> checkReduction(rank, inputs, 0, output, 0);
                case REDUCE_SCATTER ->
                    checkReduction(rank, inputs, rank * count * width, output, inPlace ? rank * count * width : 0);
                case BROADCAST -> checkCopy(rank, inputs.get(root), 0, output, 0);
                case ALL_GATHER -> {
                    for (int r = 0; r < ranks; r++) {
                        checkCopy(rank, inputs.get(r), inPlace ? r * count * width : 0, output, r * count * width);
                    }
                }
            }
        }

        private void checkCopy(int rank, MemorySegment input, long from, MemorySegment output, long at) {
            long bytes = count * type.bytes();
            assertThat(MemorySegment.mismatch(input, from, from + bytes, output, at, at + bytes))
                    .as("output of rank %d of %s", rank, name)
                    .isEqualTo(-1);
        }

        private void checkReduction(int rank, List<MemorySegment> inputs, long from, MemorySegment output, long at) {
            double[] reals = new double[ranks];
            long[] integers = new long[ranks];
            for (long i = 0; i < count; i++) {
                long shift = i * type.bytes();
                boolean right;
                if (type.isFloating()) {
                    for (int r = 0; r < ranks; r++) {
                        reals[r] = Elements.real(inputs.get(r), from + shift, type);
                    }
                    right = Elements.isReduction(output, at + shift, type, op, reals);
                } else {
                    for (int r = 0; r < ranks; r++) {
                        integers[r] = Elements.integer(inputs.get(r), from + shift, type);
                    }
                    right = Elements.integer(output, at + shift, type) == Elements.reduce(type, op, integers);
                }
                if (!right) {
                    throw new AssertionError("element " + i + " of rank " + rank + " of " + name);
                }
            }
        }

        private MemorySegment guarded(Arena arena, long elements, int shift) {
            long bytes = elements * type.bytes();
            MemorySegment whole = arena.allocate(bytes + 2 * GUARD + shift, 64).fill(GUARD_BYTE);
            MemorySegment buffer = whole.asSlice(GUARD + shift, bytes);
            guards.add(whole.asSlice(0, GUARD + shift));
            guards.add(whole.asSlice(GUARD + shift + bytes));
            return buffer;
        }

        private void checkGuards() {
            for (MemorySegment guard : guards) {
                if (guard.mismatch(UNTOUCHED.asSlice(0, guard.byteSize())) != -1) {
                    throw new AssertionError("what lies beside a buffer of " + name + " was written");
                }
            }
        }
    }
}
