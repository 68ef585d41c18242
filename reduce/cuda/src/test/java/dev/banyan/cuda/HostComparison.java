package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cuda.emulator.EmulatedGpus;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUpointer_attribute;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/** Runs calls on GPUs and on the host, and compares every bit of inputs and outputs, of the ranks that are held here.
 * */
final class HostComparison {
    private static final int DEVICE_POINTER = CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_POINTER;
    private static final long[] COUNTS = {0, 1, 3, 8, 257, 4099};

    private final SplittableRandom random;
    private final boolean isExact;
    private final @Nullable CallersStreams streams;
    private final Placement placement;

    private enum Placement {
        ALONE,
        IN_OTHER_PLACES,
        IN_THE_SAME_PLACE,
        /** Half of the ranks allocate together, half alone. */
        MIXED,
        /** Memory that no communicator has allocated, and that its device alone may touch. */
        OF_OTHERS;

        boolean isTogether() {
            return this != ALONE && this != OF_OTHERS;
        }
    }

    /** @param random chooses the bits of the inputs */
    HostComparison(SplittableRandom random) {
        this(random, false, null, Placement.ALONE);
    }

    private HostComparison(
            SplittableRandom random, boolean isExact, @Nullable CallersStreams streams, Placement placement) {
        this.random = random;
        this.isExact = isExact;
        this.streams = streams;
        this.placement = placement;
    }

    /** Returns a comparison of calls {@linkplain CallersStreams#run between other work} in streams. */
    HostComparison in(CallersStreams streams) {
        return new HostComparison(random, isExact, streams, placement);
    }

    /** Returns a comparison in buffers that all ranks allocate together, in which each rank has another place. */
    HostComparison together() {
        return new HostComparison(random, isExact, streams, Placement.IN_OTHER_PLACES);
    }

    /** Returns a comparison in buffers that all ranks allocate together, in which each rank has the same place. */
    HostComparison alike() {
        return new HostComparison(random, isExact, streams, Placement.IN_THE_SAME_PLACE);
    }

    /** Returns a comparison in which some ranks have buffers that all ranks allocate together, and others have none. */
    HostComparison mixed() {
        return new HostComparison(random, isExact, streams, Placement.MIXED);
    }

    /** Returns a comparison in mapped memory of GPUs that have the numbers of the ranks, open to its owner alone. */
    HostComparison ofOthers() {
        return new HostComparison(random, isExact, streams, Placement.OF_OTHERS);
    }

    /** Returns a comparison whose sums and means of floats are exact in any order. */
    static HostComparison exact(SplittableRandom random) {
        return new HostComparison(random, true, null, Placement.ALONE);
    }

    /**
     * Runs a call on both.
     *
     * @param shift bytes by which the buffers miss the alignment of their memory
     */
    void compare(
            Communicator host,
            Communicator cuda,
            Collective collective,
            DataType type,
            ReduceOp op,
            boolean inPlace,
            long count,
            long shift) {
        int ranks = host.size();
        int root = collective.hasRoot() ? (int) (count % ranks) : -1;
        long inputBytes = collective.inputElements(count, ranks) * type.bytes();
        long outputBytes = collective.outputElements(count, ranks) * type.bytes();
        try (Arena arena = Arena.ofShared()) {
            List<MemorySegment> hostInputs = new ArrayList<>();
            List<MemorySegment> hostOutputs = new ArrayList<>();
            List<MemorySegment> inputs = new ArrayList<>();
            List<MemorySegment> outputs = new ArrayList<>();
            long wholeInput = (inPlace ? Math.max(inputBytes, outputBytes) : inputBytes) + shift;
            long most = 2L * Long.BYTES * ranks;
            boolean together = placement.isTogether();
            List<MemorySegment> allInputs = together ? cuda.allocateAll(wholeInput + most) : List.of();
            List<MemorySegment> allOutputs = together ? cuda.allocateAll(outputBytes + shift + most) : List.of();
            for (int rank = 0; rank < ranks; rank++) {
                MemorySegment input = arena.allocate(wholeInput, 64);
                random(input, type, op);
                hostInputs.add(input.asSlice(shift));
                hostOutputs.add(arena.allocate(outputBytes + shift, 64).asSlice(shift));
                if (isHeld(cuda, rank)) {
                    int held = inputs.size();
                    // Aligned buffers stay aligned.
                    long place = placement == Placement.IN_THE_SAME_PLACE
                            ? 0
                            : rank * (shift == 0 ? 2L * Long.BYTES : type.bytes());
                    boolean isJoint = together && (placement != Placement.MIXED || (rank + count) % 2 == 0);
                    MemorySegment onDevice = isJoint
                            ? allInputs.get(held).asSlice(place, wholeInput)
                            : allocate(cuda, rank, wholeInput, arena);
                    cuda.copyToDevice(onDevice, input);
                    inputs.add(onDevice.asSlice(shift));
                    MemorySegment output = isJoint
                            ? allOutputs.get(held).asSlice(place, outputBytes + shift)
                            : allocate(cuda, rank, outputBytes + shift, arena);
                    outputs.add(output.asSlice(shift));
                }
            }
            host.run(call(host, collective, root, count, type, op, inPlace, hostInputs, hostOutputs));
            CollectiveCall called = call(cuda, collective, root, count, type, op, inPlace, inputs, outputs);
            if (streams == null) {
                cuda.run(called);
            } else {
                List<MemorySegment> buffers = new ArrayList<>(inputs);
                buffers.addAll(outputs);
                buffers = streams.run(cuda, List.of(called), buffers);
                inputs = buffers.subList(0, inputs.size());
                outputs = buffers.subList(inputs.size(), buffers.size());
            }
            for (int held = 0; held < inputs.size(); held++) {
                int rank = cuda.firstRank() + held;
                String what = collective + " " + type + " " + op + " in place " + inPlace + " count " + count + " rank "
                        + rank;
                assertSame(what + " input", hostInputs.get(rank), inputs.get(held), cuda);
                assertSame(what + " output", hostOutputs.get(rank), outputs.get(held), cuda);
            }
        }
    }

    @SuppressWarnings("restricted")
    private MemorySegment allocate(Communicator cuda, int rank, long bytes, Arena arena) {
        if (placement != Placement.OF_OTHERS) {
            return cuda.allocate(rank, bytes);
        }
        EmulatedGpus.enter(rank);
        int granules = Math.toIntExact(1 + bytes / EmulatedGpus.GRANULE);
        CUdeviceptr mapped = EmulatedGpus.mapped(rank, granules);
        // The end of the arena frees it.
        MemorySegment _ = MemorySegment.NULL.reinterpret(arena, _ -> {
            // Unlike a free, it does not wait for kernels that have reported their end and have not left.
            EmulatedGpus.enter(rank);
            EmulatedGpus.ok(JCudaDriver.cuCtxSynchronize());
            EmulatedGpus.ok(JCudaDriver.cuMemUnmap(mapped, granules * EmulatedGpus.GRANULE));
            EmulatedGpus.ok(JCudaDriver.cuMemAddressFree(mapped, granules * EmulatedGpus.GRANULE));
        });
        MemorySegment memory = CudaBackend.memory(EmulatedGpus.attribute(DEVICE_POINTER, mapped), bytes);
        cuda.copyToDevice(memory, arena.allocate(bytes));
        return memory;
    }

    /**
     * Runs sums of floats in place, which start together. In memory of others, each second call has buffers of the
     * communicator.
     *
     * @param counts the number of elements of each
     */
    void compareTogether(Communicator host, Communicator cuda, int... counts) {
        List<List<MemorySegment>> expected = new ArrayList<>();
        List<List<MemorySegment>> got = new ArrayList<>();
        try (Arena arena = Arena.ofShared()) {
            for (int count : counts) {
                expected.add(new ArrayList<>());
                got.add(new ArrayList<>());
                for (int rank = 0; rank < host.size(); rank++) {
                    MemorySegment input = arena.allocate(4L * count, 64);
                    random(input, DataType.F32, ReduceOp.SUM);
                    expected.getLast().add(input);
                    got.getLast()
                            .add(
                                    got.size() % 2 == 0
                                            ? cuda.allocate(rank, 4L * count)
                                            : allocate(cuda, rank, 4L * count, arena));
                    cuda.copyToDevice(got.getLast().getLast(), input);
                }
            }
            host.runAll(sums(expected));
            if (streams == null) {
                cuda.runAll(sums(got));
            } else {
                List<MemorySegment> copies = streams.run(
                        cuda, sums(got), got.stream().flatMap(List::stream).toList());
                for (int call = 0; call < counts.length; call++) {
                    got.set(call, copies.subList(call * host.size(), (call + 1) * host.size()));
                }
            }
            for (int call = 0; call < counts.length; call++) {
                for (int rank = 0; rank < host.size(); rank++) {
                    String what = "sum of " + counts[call] + ", rank " + rank;
                    assertSame(what, expected.get(call).get(rank), got.get(call).get(rank), cuda);
                }
            }
        }
    }

    private static List<CollectiveCall> sums(List<List<MemorySegment>> all) {
        return all.stream()
                .map(buffers -> CollectiveCall.allReduce(
                        buffers, buffers.getFirst().byteSize() / 4, DataType.F32, ReduceOp.SUM))
                .toList();
    }

    private static boolean isHeld(Communicator communicator, int rank) {
        return rank >= communicator.firstRank() && rank < communicator.firstRank() + communicator.ranksHeld();
    }

    /**
     * Runs those of some calls that fall to one of several algorithms. Over all algorithms, each two of an algorithm, a
     * collective, a type, an operation, a place, a count, an alignment and a communicator on GPUs meet in a call.
     */
    void comparePairs(Communicator host, Communicator even, Communicator odd, int algorithm, int algorithms) {
        Collective[] collectives = Collective.values();
        DataType[] types = DataType.values();
        ReduceOp[] ops = ReduceOp.values();
        int[] sizes = {algorithms, collectives.length, types.length, ops.length, 2, COUNTS.length, 2, 2};
        for (int[] row : CoveringArray.rows(sizes, each -> {
            each[3] = collectives[each[1]].reduces() ? each[3] : ReduceOp.SUM.ordinal();
            return each;
        })) {
            if (row[0] == algorithm) {
                DataType type = types[row[2]];
                compare(
                        host,
                        row[7] == 0 ? even : odd,
                        collectives[row[1]],
                        type,
                        ops[row[3]],
                        row[4] == 0,
                        COUNTS[row[5]],
                        (long) row[6] * type.bytes());
            }
        }
    }

    /**
     * Runs all collectives, types and operations, in and out of place, by turns on one of two communicators on GPUs.
     *
     * @param first turn, from which counts and alignments follow
     */
    void compareKinds(Communicator host, Communicator even, Communicator odd, int first) {
        int turn = first;
        for (Collective collective : Collective.values()) {
            for (DataType type : DataType.values()) {
                for (ReduceOp op : collective.reduces() ? ReduceOp.values() : new ReduceOp[] {ReduceOp.SUM}) {
                    for (boolean inPlace : new boolean[] {true, false}) {
                        long count = COUNTS[turn / 2 % COUNTS.length];
                        Communicator cuda = turn++ % 2 == 0 ? even : odd;
                        compare(host, cuda, collective, type, op, inPlace, count, turn % 3 == 0 ? type.bytes() : 0);
                    }
                }
            }
        }
    }

    private static CollectiveCall call(
            Communicator communicator,
            Collective collective,
            int root,
            long count,
            DataType type,
            ReduceOp op,
            boolean inPlace,
            List<MemorySegment> inputs,
            List<MemorySegment> outputs) {
        if (inPlace) {
            return CollectiveCall.of(collective, root, count, type, op, inputs);
        }
        boolean hasRoot = isHeld(communicator, root);
        int index = root - communicator.firstRank();
        return CollectiveCall.of(
                        collective,
                        root,
                        count,
                        type,
                        op,
                        collective != Collective.BROADCAST ? inputs : hasRoot ? List.of(inputs.get(index)) : List.of())
                .into(collective != Collective.REDUCE ? outputs : hasRoot ? List.of(outputs.get(index)) : List.of());
    }

    /** Any bits, but no NaN: the payload of a sum of one is not part of the promise. */
    private void random(MemorySegment segment, DataType type, ReduceOp op) {
        // An array, since processes that do not optimise take long for each access to a segment.
        byte[] bytes = new byte[(int) segment.byteSize()];
        boolean isExactSum = type.isFloating() && isExact && (op == ReduceOp.SUM || op == ReduceOp.AVG);
        if (!isExactSum) {
            random.nextBytes(bytes);
        }
        for (int top = type.bytes() - 1; type.isFloating() && top < bytes.length; top += type.bytes()) {
            if (isExactSum) {
                // Zero or a power of two of either sign, up to 8.
                int drawn = random.nextInt(10);
                int exponent = drawn / 2;
                int high = switch (type) {
                    case F16 -> 0x3800 + (exponent << 10);
                    case F64 -> 0x3fe0 + (exponent << 4);
                    default -> 0x3f00 + (exponent << 7);
                };
                int signed = (exponent == 0 ? 0 : high) | drawn % 2 << 15;
                bytes[top] = (byte) (signed >> Byte.SIZE);
                bytes[top - 1] = (byte) signed;
            } else {
                // A small exponent: neither infinity nor NaN, whatever is done.
                bytes[top] = (byte) ((bytes[top] & 0x80) | 0x38 | (bytes[top] & 3));
            }
        }
        MemorySegment.copy(bytes, 0, segment, ValueLayout.JAVA_BYTE, 0, bytes.length);
    }

    private static void assertSame(String what, MemorySegment expected, MemorySegment buffer, Communicator cuda) {
        MemorySegment got = MemorySegment.ofArray(new byte[(int) expected.byteSize()]);
        cuda.copyToHost(buffer, got);
        assertThat(got.mismatch(expected)).as(what).isEqualTo(-1);
    }
}
