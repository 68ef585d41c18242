package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.emulator.EmulatedGpus;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Reproducible sums of emulated GPUs have the bits of those in host memory. */
class ReproducibleGpusTest {
    private final CudaEmulator emulator = EmulatedProcess.begin();

    @AfterEach
    void nothingWentWrongUnseen() {
        assertThat(emulator.problems()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "F32, 8, 8, 1100, kernel, auto, true",
        "F32, 3, 3, 33, graph, ring, false",
        "F32, 9, 9, 70, graph, multi-tree, false",
        "F32, 16, 4, 70, kernel, packing, true",
        "F32, 2, 2, 33, kernel, star, true",
        "F64, 15, 3, 33, kernel, packing, true",
        "F16, 4, 1, 700, kernel, packing, true",
        "BF16, 5, 5, 700, kernel, single-tree, false",
        "BF16, 2, 2, 9, graph, star, false",
        "BF16, 9, 2, 170, kernel, packing, true",
        "F64, 4, 4, 600, kernel, one-shot, true",
        "F64, 6, 6, 33, graph, auto, false"
    })
    void bitsAreThoseOfTheHost(
            DataType type, int ranks, int devices, int count, String executor, String algorithm, boolean isAtOnce) {
        emulator.tell("devices " + devices + " switched");
        Config config = Config.builder()
                .set(Algorithms.REPRODUCIBLE, true)
                .set("BANYAN_CUDA_EXECUTOR", executor)
                .set(Planner.ALGORITHM.name(), algorithm)
                .build();
        Machine machine = Machine.preset(ranks <= 8 ? "dgx-a100" : "dgx-2")
                .subset(IntStream.range(0, ranks).toArray());
        Random random = new Random(ranks);
        try (Communicator gpus = Communicator.onGpus(
                        machine,
                        config,
                        IntStream.range(0, ranks).map(rank -> rank % devices).toArray());
                Communicator host = Communicator.onHost(machine, config)) {
            for (Collective collective : List.of(Collective.ALL_REDUCE, Collective.REDUCE, Collective.REDUCE_SCATTER)) {
                for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.AVG)) {
                    int elements = (int) collective.inputElements(count, ranks);
                    List<byte[]> values = IntStream.range(0, ranks)
                            .mapToObj(_ -> values(type, elements, random))
                            .toList();
                    for (boolean inPlace : new boolean[] {true, false}) {
                        assertThat(run(gpus, collective, op, type, count, values, inPlace))
                                .as("%s %s in place %s", collective, op, inPlace)
                                .isEqualTo(run(host, collective, op, type, count, values, inPlace));
                    }
                }
            }
        }
        assertThat(atOnce() > 0).isEqualTo(isAtOnce);
    }

    /** Returns how many kernels have made sums in one pass. */
    private long atOnce() {
        return emulator.count("kernels banyan_reproducible");
    }

    /** Sums over memory that is open to all devices are one launch; memory of others needs passes. */
    @Test
    void batchesAreOneLaunchWhereMemoryIsOpen() {
        emulator.tell("devices 4 switched");
        Random random = new Random(4);
        Machine machine = Machine.preset("dgx-a100").subset(0, 1, 2, 3);
        Config config = Config.builder().set(Algorithms.REPRODUCIBLE, true).build();
        try (Communicator gpus = Communicator.onGpus(machine, config, 0, 1, 2, 3)) {
            List<CollectiveCall> calls = new ArrayList<>();
            List<byte[]> expected = new ArrayList<>();
            for (int call = 0; call < 4; call++) {
                int count = 100 << call;
                List<byte[]> values = IntStream.range(0, 4)
                        .mapToObj(_ -> values(DataType.F32, count, random))
                        .toList();
                expected.add(RandomSumsTest.expected(DataType.F32, ReduceOp.SUM, values, count));
                List<MemorySegment> buffers = new ArrayList<>();
                for (int rank = 0; rank < 4; rank++) {
                    buffers.add(call == 3 && rank == 0 ? ofAnother(4L * count) : gpus.allocate(rank, 4L * count));
                    gpus.copyToDevice(buffers.get(rank), MemorySegment.ofArray(values.get(rank)));
                }
                calls.add(CollectiveCall.allReduce(buffers, count, DataType.F32, ReduceOp.SUM));
            }
            gpus.runAll(calls);
            assertThat(atOnce()).isEqualTo(4);
            assertThat(emulator.count("kernels banyan_sum")).isEqualTo(3 * 4);
            for (int call = 0; call < 4; call++) {
                for (MemorySegment output : calls.get(call).outputs()) {
                    byte[] found = new byte[expected.get(call).length];
                    gpus.copyToHost(output, MemorySegment.ofArray(found));
                    assertThat(found).isEqualTo(expected.get(call));
                }
            }
            EmulatedGpus.ok(JCudaDriver.cuMemFree(
                    new DeviceAddress(calls.getLast().outputs().getFirst().address())));
        }
    }

    /** Returns memory of the first device that the communicator has not allocated. */
    private static MemorySegment ofAnother(long bytes) {
        EmulatedGpus.enter(0);
        DeviceAddress address = new DeviceAddress();
        EmulatedGpus.ok(JCudaDriver.cuMemAlloc(address, bytes));
        return CudaBackend.memory(address.value(), bytes);
    }

    /** An allreduce of 2 MiB gathers results of which each rank makes a share; an odd count has one more. */
    @ParameterizedTest
    @CsvSource({"kernel, true, SUM, 0", "graph, false, AVG, 1"})
    void ranksShareTheResultsOfLongArrays(String executor, boolean inPlace, ReduceOp op, int more) {
        emulator.tell("devices 2 switched");
        int count = (1 << 18) + more;
        Random random = new Random(2);
        List<byte[]> values = List.of(values(DataType.F64, count, random), values(DataType.F64, count, random));
        Machine machine = Machine.preset("dgx-a100").subset(0, 1);
        Config config = Config.builder()
                .set(Algorithms.REPRODUCIBLE, true)
                .set("BANYAN_CUDA_EXECUTOR", executor)
                // No sums in one pass.
                .set(Planner.ALGORITHM.name(), "ring")
                .build();
        try (Communicator gpus = Communicator.onGpus(machine, config, 0, 1);
                Communicator host = Communicator.onHost(machine, config)) {
            assertThat(run(gpus, Collective.ALL_REDUCE, op, DataType.F64, count, values, inPlace))
                    .isEqualTo(run(host, Collective.ALL_REDUCE, op, DataType.F64, count, values, inPlace));
        }
    }

    /** Numbers of similar and of any exponents, few special ones, zeros and subnormal ones. */
    static byte[] values(DataType type, int elements, Random random) {
        MemorySegment values = MemorySegment.ofArray(new long[Math.ceilDiv(elements * type.bytes(), Long.BYTES)]);
        for (int i = 0; i < elements; i++) {
            double wide = Math.scalb(random.nextGaussian(), random.nextInt(type == DataType.F16 ? 30 : 250) - 125);
            double value = switch (i % 7) {
                case 0 -> wide;
                case 1 -> random.nextInt(20) == 0 ? Double.POSITIVE_INFINITY : 1;
                case 2 -> random.nextInt(20) == 0 ? Double.NaN : -random.nextFloat();
                case 3 -> random.nextInt(20) == 0 ? Double.NEGATIVE_INFINITY : -0.0;
                case 4 -> Math.scalb((double) random.nextInt(100), type == DataType.F64 ? -1074 : -149);
                default -> random.nextGaussian();
            };
            if (i % 14 == 5) {
                long bits = random.nextLong();
                value = switch (type) {
                    case F64 -> Double.longBitsToDouble(bits);
                    case F16 -> Float.float16ToFloat((short) bits);
                    default -> Float.intBitsToFloat((int) bits);
                };
            }
            switch (type) {
                case F64 -> values.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, 8L * i, value);
                case F32 -> values.set(ValueLayout.JAVA_FLOAT_UNALIGNED, 4L * i, (float) value);
                case F16 -> values.set(ValueLayout.JAVA_SHORT_UNALIGNED, 2L * i, Float.floatToFloat16((float) value));
                default ->
                    values.set(ValueLayout.JAVA_SHORT_UNALIGNED, 2L * i, (short)
                            (Float.floatToRawIntBits((float) value) >>> 16));
            }
        }
        return values.asSlice(0, (long) elements * type.bytes()).toArray(ValueLayout.JAVA_BYTE);
    }

    /** Returns the contents of all outputs after a call. */
    static List<ByteBuffer> run(
            Communicator communicator,
            Collective collective,
            ReduceOp op,
            DataType type,
            int count,
            List<byte[]> values,
            boolean inPlace) {
        int ranks = communicator.size();
        int root = collective.hasRoot() ? ranks - 1 : -1;
        try (Arena arena = Arena.ofShared()) {
            List<MemorySegment> inputs = new ArrayList<>();
            for (int rank = 0; rank < ranks; rank++) {
                MemorySegment input = communicator.allocate(rank, values.get(rank).length, arena);
                communicator.copyToDevice(input, host(arena, values.get(rank)));
                inputs.add(input);
            }
            List<MemorySegment> outputs = inPlace
                    ? inputs
                    : IntStream.range(0, ranks)
                            .filter(rank -> collective != Collective.REDUCE || rank == root)
                            .mapToObj(rank -> communicator.allocate(rank, (long) count * type.bytes(), arena))
                            .toList();
            CollectiveCall call = CollectiveCall.of(collective, root, count, type, op, inputs);
            communicator.run(inPlace ? call : call.into(outputs));
            List<ByteBuffer> results = new ArrayList<>();
            for (MemorySegment output : outputs) {
                MemorySegment copy = arena.allocate(output.byteSize());
                communicator.copyToHost(output, copy);
                results.add(ByteBuffer.wrap(copy.toArray(ValueLayout.JAVA_BYTE)));
            }
            return results;
        }
    }

    private static MemorySegment host(Arena arena, byte[] bytes) {
        return arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
    }
}
