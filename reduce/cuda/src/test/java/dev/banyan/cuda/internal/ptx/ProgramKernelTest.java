package dev.banyan.cuda.internal.ptx;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.EmulatedProcess;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.internal.ptx.ProgramLoop.Form;
import dev.banyan.cuda.internal.ptx.ProgramLoop.Place;
import dev.banyan.cuda.internal.ptx.ProgramLoop.Post;
import dev.banyan.cuda.internal.ptx.ProgramLoop.PostKind;
import dev.banyan.cuda.internal.ptx.ProgramLoop.Protocol;
import dev.banyan.cuda.internal.ptx.ProgramLoop.Wait;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import jcuda.driver.CUfunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Loops of a single block, of every type, operation, arity, kind of place and protocol, with awkward counts, addresses
 * and values: the emulated driver runs the kernel's PTX, which gives the bits of the host backend.
 */
class ProgramKernelTest {
    private static final int MOST_INPUTS = 8;
    private static final int MOST_OUTPUTS = 3;
    private static final int[] COUNTS = {1, 2, 7, 16, 31, 129, 1021};
    private static final int MOST_COUNT = 1021;
    private static final int BLOCKS = 10;
    private static final int MEMORY = 2 << 20;
    private static final long BASE = 0x7_FFFF_FF00L;

    private final CudaEmulator emulator = EmulatedProcess.begin();
    private final SplittableRandom random = new SplittableRandom(7);
    private final Map<Kernel, String> texts = new HashMap<>();

    @AfterEach
    void nothingWentWrongUnseen() {
        assertThat(emulator.problems()).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void loopsHaveTheBitsOfTheHost(DataType type) {
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.STAR))
                .set(HostBackend.THREADS, 1)
                .build();
        for (int inputs = 1; inputs <= MOST_INPUTS; inputs++) {
            int[] ranks = IntStream.range(0, Math.max(2, inputs)).toArray();
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
                    if (inputs == 1) {
                        expected.copyFrom(values.getFirst());
                    } else {
                        host.run(CollectiveCall.reduce(values, MOST_COUNT, type, op)
                                .into(List.of(expected)));
                    }
                    compare(type, op, values, expected);
                }
            }
        }
    }

    private void compare(DataType type, ReduceOp op, List<MemorySegment> values, MemorySegment expected) {
        Kernel kernel = new Kernel.Program(op == ReduceOp.AVG ? ReduceOp.SUM : op, Element.of(type));
        EmulatedProcess.beginAnother(emulator);
        ProgramGpu gpu = new ProgramGpu(0, MEMORY);
        CUfunction function = gpu.function(texts.computeIfAbsent(kernel, Kernel::ptx), kernel.name());
        List<Trial> trials = new ArrayList<>();
        for (int block = 0; block < BLOCKS; block++) {
            Protocol protocol = block % 2 == 0 ? Protocol.BULK : Protocol.LOW_LATENCY;
            int count = COUNTS[random.nextInt(COUNTS.length)];
            Trial trial = new Trial(gpu, type.bytes(), count, protocol, 100 * block, block < BLOCKS / 2);
            values.forEach(value -> trial.input(value.toArray(ValueLayout.JAVA_BYTE)));
            for (int o = random.nextInt(1, MOST_OUTPUTS + 1); o > 0; o--) {
                trial.output();
            }
            trials.add(trial);
        }
        int divisor = op == ReduceOp.AVG ? values.size() : 1;
        run(gpu, function, trials, divisor);
        for (Trial trial : trials) {
            trial.results()
                    .forEach(result -> HostBits.assertSame(
                            type, kernel.name() + " of " + values.size() + " by " + trial, result, expected));
        }
    }

    private void run(ProgramGpu gpu, CUfunction function, List<Trial> trials, int divisor) {
        long table = gpu.table(
                trials.stream().map(trial -> List.of(trial.loop(divisor))).toList());
        gpu.upload();
        int workers = 32 * new int[] {1, 2, 3, 8, 16}[random.nextInt(5)];
        long[] buffers = trials.stream().mapToLong(trial -> trial.buffer).toArray();
        gpu.launch(function, table, trials.size(), workers, BASE, ProgramGpu.TIMEOUT, buffers);
        gpu.await();
        assertThat(gpu.status(0).code()).isEqualTo(ProgramStatus.Code.NONE);
        assertThat(gpu.done()).isEqualTo(BASE);
        gpu.download();
        trials.forEach(Trial::checkPosts);
    }

    /** One loop, its places and their contents. */
    private final class Trial {
        final long buffer;
        private final ProgramGpu gpu;
        private final int elementBytes;
        private final int count;
        private final Protocol protocol;
        private final int id;
        private final boolean isAligned;
        private final int elements;
        private final int slices;
        private final long start;
        private final List<Place> inputs = new ArrayList<>();
        private final List<Place> outputs = new ArrayList<>();
        private final List<Wait> waits = new ArrayList<>();
        private final List<Post> posts = new ArrayList<>();

        Trial(ProgramGpu gpu, int elementBytes, int count, Protocol protocol, int id, boolean isAligned) {
            this.gpu = gpu;
            this.elementBytes = elementBytes;
            this.count = count;
            this.protocol = protocol;
            this.id = id;
            this.isAligned = isAligned;
            int unit = Math.max(1, 16 / elementBytes);
            elements = unit * random.nextInt(1, 2 + Math.ceilDiv(count, unit));
            slices = Math.ceilDiv(count, elements);
            start = BASE + id;
            buffer = gpu.reserve(0, 16);
            for (int w = random.nextInt(4); w > 0; w--) {
                boolean readiness = random.nextBoolean();
                long flag = gpu.flag();
                gpu.put(flag).putLong(0, readiness ? start : start + slices);
                waits.add(new Wait(flag, readiness ? Wait.READINESS : 0, w));
            }
            for (PostKind kind : PostKind.values()) {
                if (random.nextBoolean()) {
                    posts.add(new Post(gpu.flag(), kind));
                }
            }
        }

        private int sliceBytes() {
            return elements * elementBytes;
        }

        private int bytesOf(int slice) {
            return Math.min(sliceBytes(), count * elementBytes - slice * sliceBytes());
        }

        private Place place() {
            int kind = random.nextInt(protocol == Protocol.BULK ? 3 : 4);
            int slots = Math.max(1, Integer.highestOneBit(2 * slices - 1));
            if (kind < 2) {
                int shift = isAligned ? 0 : elementBytes * random.nextInt(1 + 16 / elementBytes);
                long address = gpu.reserve(count * elementBytes + shift, 16);
                address += shift;
                return kind == 0
                        ? Place.linear(id / 100, address - buffer)
                        : Place.linear(ProgramLoop.ABSOLUTE, address);
            }
            int slotBytes = (kind == 2 ? 1 : 2) * sliceBytes() + 16 * random.nextInt(3);
            return Place.slots(
                    gpu.reserve(slots * slotBytes, 16), slotBytes, slots, kind == 2 ? Form.PLAIN : Form.LINES, id);
        }

        private long address(Place place, int slice) {
            long base = place.address() + (place.buffer() == ProgramLoop.ABSOLUTE ? 0 : buffer);
            return place.slotBytes() == 0
                    ? base + (long) slice * sliceBytes()
                    : base + (long) (slice & place.slotMask()) * place.slotBytes();
        }

        void input(byte[] values) {
            Place place = place();
            inputs.add(place);
            for (int slice = 0; slice < slices; slice++) {
                byte[] bytes = Arrays.copyOfRange(values, slice * sliceBytes(), slice * sliceBytes() + bytesOf(slice));
                ByteBuffer to = gpu.put(address(place, slice));
                if (place.form() == Form.PLAIN) {
                    to.put(bytes);
                    continue;
                }
                ByteBuffer data = ByteBuffer.wrap(Arrays.copyOf(bytes, Math.ceilDiv(bytes.length, 8) * 8))
                        .order(ByteOrder.nativeOrder());
                while (data.hasRemaining()) {
                    to.putInt(data.getInt()).putInt((int) (start + slice + 1));
                }
            }
        }

        /** Anywhere, or where a plain input is. */
        void output() {
            Place input = inputs.get(random.nextInt(inputs.size()));
            boolean inPlace = outputs.isEmpty() && input.form() == Form.PLAIN && random.nextInt(4) == 0;
            outputs.add(inPlace ? input : place());
        }

        ProgramLoop loop(int divisor) {
            int last = count - (slices - 1) * elements;
            return new ProgramLoop(slices, elements, last, waits, inputs, outputs, posts, id, divisor, id, protocol);
        }

        List<byte[]> results() {
            return outputs.stream().map(this::result).toList();
        }

        private byte[] result(Place place) {
            ByteBuffer result = ByteBuffer.allocate(count * elementBytes + 16).order(ByteOrder.nativeOrder());
            for (int slice = 0; slice < slices; slice++) {
                result.position(slice * sliceBytes());
                if (place.form() == Form.PLAIN) {
                    result.put(gpu.bytes(address(place, slice), bytesOf(slice)));
                    continue;
                }
                ByteBuffer lines = gpu.put(address(place, slice));
                for (int line = 0; line < Math.ceilDiv(bytesOf(slice), 8); line++) {
                    for (int half = 0; half < 2; half++) {
                        result.putInt(lines.getInt());
                        assertThat(lines.getInt()).as("flag in %s", place).isEqualTo((int) (start + slice + 1));
                    }
                }
            }
            return Arrays.copyOf(result.array(), count * elementBytes);
        }

        void checkPosts() {
            for (Post post : posts) {
                long wanted = post.kind() == PostKind.WHEN_READY ? start : start + slices;
                assertThat(gpu.put(post.flag()).getLong(0)).as("%s", post).isEqualTo(wanted);
            }
        }

        @Override
        public String toString() {
            return loop(1).toString();
        }
    }

    /** 32 waits, 16 inputs, 16 outputs and 32 posts, several times one behind another, and blocks without loops. */
    @Test
    void recordsMayBeFull() {
        Kernel kernel = new Kernel.Program(ReduceOp.MAX, Element.I32);
        ProgramGpu gpu = new ProgramGpu(0, MEMORY);
        int count = 40;
        int loops = 3;
        List<ProgramLoop> full = new ArrayList<>();
        List<Place> results = new ArrayList<>();
        for (int loop = 0; loop < loops; loop++) {
            List<Place> inputs = new ArrayList<>();
            List<Place> outputs = new ArrayList<>();
            List<Wait> waits = new ArrayList<>();
            List<Post> posts = new ArrayList<>();
            for (int i = 0; i < ProgramLoop.MOST_INPUTS; i++) {
                long input = gpu.reserve(4 * count, 16);
                for (int e = 0; e < count; e++) {
                    gpu.put(input).putInt(4 * e, e % ProgramLoop.MOST_INPUTS == i ? 1000 * loop + e : -e);
                }
                inputs.add(Place.linear(ProgramLoop.ABSOLUTE, input));
                outputs.add(Place.linear(ProgramLoop.ABSOLUTE, gpu.reserve(4 * count, 16)));
            }
            for (int f = 0; f < ProgramLoop.MOST_POSTS; f++) {
                posts.add(new Post(gpu.flag(), PostKind.AFTER_SLICES));
                // Every loop but the first waits for the one before.
                waits.add(loop == 0 ? new Wait(gpu.flag(), Wait.READINESS, f) : new Wait(flag(full, f), 0, f));
                if (loop == 0) {
                    gpu.put(waits.getLast().flag()).putLong(0, BASE);
                }
            }
            full.add(new ProgramLoop(2, 32, count - 32, waits, inputs, outputs, posts, 0, 1, loop, Protocol.BULK));
            assertThat(full.getLast().bytes()).isEqualTo(ProgramLoop.MOST_BYTES);
            results.addAll(outputs);
        }
        long table = gpu.table(List.of(List.of(), full, List.of()));
        gpu.upload();
        gpu.launch(gpu.function(kernel.ptx(), kernel.name()), table, 3, 64, BASE, ProgramGpu.TIMEOUT);
        gpu.await();
        gpu.download();
        for (int r = 0; r < results.size(); r++) {
            for (int e = 0; e < count; e++) {
                assertThat(gpu.put(results.get(r).address()).getInt(4 * e))
                        .isEqualTo(1000 * (r / ProgramLoop.MOST_OUTPUTS) + e);
            }
        }
        assertThat(gpu.done()).isEqualTo(BASE);
    }

    private static long flag(List<ProgramLoop> loops, int post) {
        return loops.getLast().posts().get(post).flag();
    }

    @Test
    void wideSumsAreExact() {
        Kernel kernel = new Kernel.Program(ReduceOp.SUM, Element.I128);
        for (int inputs = 1; inputs <= MOST_INPUTS; inputs++) {
            EmulatedProcess.beginAnother(emulator);
            ProgramGpu gpu = new ProgramGpu(0, MEMORY);
            List<byte[]> values = new ArrayList<>();
            for (int s = 0; s < inputs; s++) {
                values.add(new byte[16 * MOST_COUNT]);
                random.nextBytes(values.getLast());
            }
            List<Trial> trials = new ArrayList<>();
            for (int block = 0; block < 4; block++) {
                Protocol protocol = block % 2 == 0 ? Protocol.BULK : Protocol.LOW_LATENCY;
                Trial trial = new Trial(gpu, 16, COUNTS[random.nextInt(COUNTS.length)], protocol, 100 * block, true);
                values.forEach(trial::input);
                trial.output();
                trials.add(trial);
            }
            run(gpu, gpu.function(kernel.ptx(), kernel.name()), trials, 1);
            for (Trial trial : trials) {
                byte[] result = trial.results().getFirst();
                for (int e = 0; e < trial.count; e++) {
                    BigInteger sum = BigInteger.ZERO;
                    for (byte[] value : values) {
                        sum = sum.add(wide(value, e));
                    }
                    assertThat(wide(result, e)).as("%s", trial).isEqualTo(wrapped(sum));
                }
            }
        }
    }

    private static BigInteger wide(byte[] values, int index) {
        byte[] element = Arrays.copyOfRange(values, 16 * index, 16 * index + 16);
        for (int i = 0; i < 8; i++) {
            byte swapped = element[i];
            element[i] = element[15 - i];
            element[15 - i] = swapped;
        }
        return new BigInteger(element);
    }

    private static BigInteger wrapped(BigInteger value) {
        BigInteger range = BigInteger.ONE.shiftLeft(128);
        BigInteger rest = value.mod(range);
        return rest.testBit(127) ? rest.subtract(range) : rest;
    }
}
