package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.emulator.EmulatedGpus.allocate;
import static dev.banyan.cuda.emulator.EmulatedGpus.at;
import static dev.banyan.cuda.emulator.EmulatedGpus.enter;
import static dev.banyan.cuda.emulator.EmulatedGpus.ok;
import static jcuda.driver.JCudaDriver.cuLaunchKernel;
import static jcuda.driver.JCudaDriver.cuMemcpyDtoH;
import static jcuda.driver.JCudaDriver.cuMemcpyHtoD;
import static jcuda.driver.JCudaDriver.cuModuleUnload;
import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.EmulatedProcess;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.emulator.EmulatedGpus;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Presets;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.BiFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The emulated driver runs the PTX of every kernel that a machine of 16 ranks can ask for, with awkward counts,
 * addresses, grids and values, and gives the bits of the host backend; of wide sums, those of exact arithmetic.
 */
class KernelsAgainstHostTest {
    private static final int MOST_INPUTS = 16;
    private static final int[] COUNTS = {1, 2, 7, 16, 31, 129, 1021};
    private static final int MOST_COUNT = 1021;
    private static final int ROOM = 8 * MOST_COUNT + 128;

    /** The begin of a kernel's buffers. */
    private enum Placement {
        ALIGNED,
        /** All as far from a multiple of 16 bytes. */
        SHIFTED,
        /** Each at another distance from a multiple of 16 bytes. */
        MIXED,
        /** The target is a source. */
        IN_PLACE
    }

    private final CudaEmulator emulator = EmulatedProcess.begin();
    private final SplittableRandom random = new SplittableRandom(5);

    @AfterEach
    void nothingWentWrongUnseen() {
        assertThat(emulator.problems()).isEmpty();
    }

    /** Each count has each placement with some number of inputs. */
    @ParameterizedTest
    @EnumSource(DataType.class)
    void reductionsHaveTheBitsOfTheHost(DataType type) {
        compareReductions(
                type, (inputs, count) -> List.of(Placement.values()[(inputs + count) % Placement.values().length]));
    }

    @ParameterizedTest
    @Tag("soak")
    @EnumSource(DataType.class)
    void reductionsOfEachPlacementHaveTheBitsOfTheHost(DataType type) {
        compareReductions(type, (_, _) -> List.of(Placement.values()));
    }

    /** @param placements for a number of inputs and an index of a count */
    private void compareReductions(DataType type, BiFunction<Integer, Integer, List<Placement>> placements) {
        enter(0);
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.STAR))
                .set(HostBackend.THREADS, 1)
                .build();
        CUdeviceptr[] memory =
                Stream.generate(() -> allocate(ROOM)).limit(MOST_INPUTS + 1L).toArray(CUdeviceptr[]::new);
        for (int inputs = 2; inputs <= MOST_INPUTS; inputs++) {
            int[] ranks = IntStream.range(0, inputs).toArray();
            try (Communicator host = Communicator.onHost(
                            Presets.find("dgx-2").orElseThrow().subset(ranks), config);
                    Arena arena = Arena.ofShared()) {
                List<MemorySegment> values = new ArrayList<>();
                MemorySegment expected = arena.allocate((long) MOST_COUNT * type.bytes(), 64);
                for (int s = 0; s < inputs; s++) {
                    values.add(arena.allocate((long) MOST_COUNT * type.bytes(), 64));
                    HostBits.fill(random, type, values.getLast());
                }
                for (ReduceOp op : ReduceOp.values()) {
                    if (op == ReduceOp.AVG && !type.isFloating()) {
                        continue;
                    }
                    host.run(CollectiveCall.reduce(values, MOST_COUNT, type, op).into(List.of(expected)));
                    compare(type, op, values, expected, memory, placements);
                }
            }
        }
    }

    private void compare(
            DataType type,
            ReduceOp op,
            List<MemorySegment> values,
            MemorySegment expected,
            CUdeviceptr[] memory,
            BiFunction<Integer, Integer, List<Placement>> placements) {
        Kernel kernel = new Kernel.Reduce(op == ReduceOp.AVG ? ReduceOp.SUM : op, Element.of(type), values.size());
        CUmodule module = new CUmodule();
        CUfunction function = new CUfunction();
        ok(JCudaDriver.cuModuleLoadData(module, kernel.ptx()));
        ok(JCudaDriver.cuModuleGetFunction(function, module, kernel.name()));
        for (int c = 0; c < COUNTS.length; c++) {
            int count = COUNTS[c];
            for (Placement placement : placements.apply(values.size(), c)) {
                int bytes = count * type.bytes();
                int shift = type.bytes() * random.nextInt(1, 16);
                CUdeviceptr[] addresses = new CUdeviceptr[values.size() + 1];
                for (int a = 0; a < addresses.length; a++) {
                    addresses[a] = switch (placement) {
                        case ALIGNED, IN_PLACE -> memory[a];
                        case SHIFTED -> at(memory[a], shift);
                        case MIXED -> at(memory[a], (long) type.bytes() * random.nextInt(16) % 64);
                    };
                }
                for (int s = 0; s < values.size(); s++) {
                    byte[] source = values.get(s).asSlice(0, bytes).toArray(ValueLayout.JAVA_BYTE);
                    ok(cuMemcpyHtoD(addresses[s + 1], Pointer.to(source), bytes));
                }
                if (placement == Placement.IN_PLACE) {
                    addresses[0] = addresses[random.nextInt(1, addresses.length)];
                }
                launch(function, addresses, count, op == ReduceOp.AVG ? values.size() : 1);
                byte[] result = new byte[bytes];
                ok(cuMemcpyDtoH(Pointer.to(result), addresses[0], bytes));
                HostBits.assertSame(
                        type, kernel.name() + " " + op + " " + placement + " of " + count, result, expected);
            }
        }
        ok(cuModuleUnload(module));
    }

    private static CUfunction function(Kernel kernel) {
        return EmulatedGpus.function(kernel.ptx(), kernel.name());
    }

    private void launch(CUfunction function, CUdeviceptr[] addresses, long count, int divisor) {
        Pointer[] parameters =
                Arrays.copyOf(Arrays.stream(addresses).map(Pointer::to).toArray(Pointer[]::new), addresses.length + 2);
        parameters[addresses.length] = Pointer.to(new long[] {count});
        parameters[addresses.length + 1] = Pointer.to(new int[] {divisor});
        int blocks = random.nextInt(1, 5);
        int threads = random.nextInt(1, 17) * (random.nextBoolean() ? 32 : 31);
        ok(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, null, Pointer.to(parameters), null));
    }

    @ParameterizedTest
    @EnumSource(
            value = DataType.class,
            names = {"I8", "U8", "I32", "I64"})
    void meansOfIntegersAreExact(DataType type) {
        enter(0);
        boolean isLong = type == DataType.I64;
        Element wide = Element.wide(type);
        CUfunction widen = function(new Kernel.Widen(type));
        CUfunction mean = function(new Kernel.Mean(type));
        for (int inputs = 2; inputs <= MOST_INPUTS; inputs++) {
            CUfunction sum = function(new Kernel.Reduce(ReduceOp.SUM, wide, inputs));
            int count = COUNTS[inputs % COUNTS.length];
            BigInteger[] sums = new BigInteger[count];
            Arrays.fill(sums, BigInteger.ZERO);
            CUdeviceptr[] addresses = new CUdeviceptr[inputs + 1];
            addresses[0] = allocate((long) count * wide.bytes());
            for (int s = 1; s <= inputs; s++) {
                byte[] values = new byte[count * type.bytes()];
                random.nextBytes(values);
                if (isLong) {
                    Arrays.fill(values, (byte) (s % 2 == 0 ? 0x7f : 0x80));
                }
                ByteBuffer buffer = ByteBuffer.wrap(values).order(ByteOrder.nativeOrder());
                for (int i = 0; i < count; i++) {
                    sums[i] = sums[i].add(BigInteger.valueOf(integer(type, buffer, i)));
                }
                CUdeviceptr narrow = allocate(values.length);
                addresses[s] = allocate((long) count * wide.bytes());
                ok(cuMemcpyHtoD(narrow, Pointer.to(values), values.length));
                launch(widen, new CUdeviceptr[] {addresses[s], narrow}, count, 1);
            }
            launch(sum, addresses, count, 1);
            CUdeviceptr result = allocate((long) count * type.bytes());
            launch(mean, new CUdeviceptr[] {result, addresses[0]}, count, inputs);
            byte[] means = new byte[count * type.bytes()];
            ok(cuMemcpyDtoH(Pointer.to(means), result, means.length));
            ByteBuffer buffer = ByteBuffer.wrap(means).order(ByteOrder.nativeOrder());
            for (int i = 0; i < count; i++) {
                assertThat(integer(type, buffer, i))
                        .isEqualTo(sums[i].divide(BigInteger.valueOf(inputs)).longValueExact());
            }
        }
    }

    private static long integer(DataType type, ByteBuffer values, int index) {
        return switch (type) {
            case I8 -> values.get(index);
            case U8 -> values.get(index) & 0xff;
            case I32 -> values.getInt(4 * index);
            default -> values.getLong(8 * index);
        };
    }
}
