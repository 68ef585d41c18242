package dev.banyan.cuda.internal.ptx;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cuda.EmulatedProcess;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.internal.ptx.ProgramLoop.Form;
import dev.banyan.cuda.internal.ptx.ProgramLoop.Place;
import dev.banyan.cuda.internal.ptx.ProgramLoop.Post;
import dev.banyan.cuda.internal.ptx.ProgramLoop.PostKind;
import dev.banyan.cuda.internal.ptx.ProgramLoop.Protocol;
import dev.banyan.cuda.internal.ptx.ProgramLoop.Wait;
import dev.banyan.schedule.type.ReduceOp;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import jcuda.driver.CUfunction;

/**
 * Emulated GPUs that add their inputs along a chain and send the sum back, so that all have it. The array is cut into
 * lanes, each with flags and channels of its own.
 */
final class ProgramChain {
    /**
     * The shape of a chain.
     *
     * @param elements of each lane
     * @param slots of each channel
     * @param excess credits that senders take too much
     * @param blocksPerLane 1: the way there and the way back are loops of one block; 2: each has a block
     */
    record Shape(
            int gpus,
            int lanes,
            int elements,
            int sliceElements,
            int slots,
            int excess,
            Protocol protocol,
            int blocksPerLane) {
        int slices() {
            return Math.ceilDiv(elements, sliceElements);
        }
    }

    private static final Kernel KERNEL = new Kernel.Program(ReduceOp.SUM, Element.F32);
    private static final String PTX = KERNEL.ptx();
    private static final int BYTES = Float.BYTES;
    private static final long BASES_APART = 1000;
    private static final int LANES_APART = 100;

    private final Shape shape;
    private final CudaEmulator emulator;
    private final List<ProgramGpu> gpus = new ArrayList<>();
    private final List<CUfunction> functions = new ArrayList<>();
    private final long[] inputs;
    private final long[] outputs;
    private final List<List<List<ProgramLoop>>> blocks = new ArrayList<>();
    private final float[] expected;
    private final List<Channel> channels = new ArrayList<>();
    private long[] tables = {};
    private long base = 1L << 32;

    /** @param defect changes the text of the kernel */
    ProgramChain(
            CudaEmulator emulator, Shape shape, int memory, SplittableRandom random, UnaryOperator<String> defect) {
        this.emulator = emulator;
        this.shape = shape;
        EmulatedProcess.beginAnother(emulator);
        emulator.tell("devices " + shape.gpus());
        int count = shape.lanes() * shape.elements();
        inputs = new long[shape.gpus()];
        outputs = new long[shape.gpus()];
        expected = new float[count];
        String text = defect.apply(PTX);
        for (int g = 0; g < shape.gpus(); g++) {
            ProgramGpu gpu = new ProgramGpu(g, memory);
            functions.add(gpu.function(text, KERNEL.name()));
            inputs[g] = gpu.reserve(count * BYTES, 16);
            outputs[g] = gpu.reserve(count * BYTES, 16);
            for (int i = 0; i < count; i++) {
                float value = (float) random.nextDouble(-1, 1);
                gpu.put(inputs[g]).putFloat(BYTES * i, value);
                expected[i] = g == 0 ? value : expected[i] + value;
            }
            gpus.add(gpu);
            blocks.add(new ArrayList<>());
        }
        for (ProgramGpu gpu : gpus) {
            gpus.stream().filter(peer -> peer != gpu).forEach(gpu::reach);
        }
        IntStream.range(0, shape.lanes()).forEach(this::buildLane);
        tables = IntStream.range(0, shape.gpus())
                .mapToLong(g -> gpus.get(g).table(blocks.get(g)))
                .toArray();
        gpus.forEach(ProgramGpu::upload);
    }

    /** Flags and slots from one GPU to the next one. */
    private record Channel(int number, int to, long data, long credit, long slots) {}

    private Channel channel(int lane, int from, int to) {
        ProgramGpu receiver = gpus.get(to);
        int number = 2 * shape.gpus() * lane + shape.gpus() * (from < to ? 0 : 1) + from;
        long slots = receiver.reserve(shape.slots() * slotBytes(), 16);
        Channel channel =
                new Channel(number, to, receiver.flag(), gpus.get(from).flag(), slots);
        channels.add(channel);
        return channel;
    }

    private boolean isBulk() {
        return shape.protocol() == Protocol.BULK;
    }

    private int slotBytes() {
        return shape.sliceElements() * BYTES * (isBulk() ? 1 : 2);
    }

    private void buildLane(int lane) {
        int last = shape.gpus() - 1;
        List<Channel> up =
                IntStream.range(0, last).mapToObj(g -> channel(lane, g, g + 1)).toList();
        List<Channel> down =
                IntStream.range(0, last).mapToObj(g -> channel(lane, g + 1, g)).toList();
        for (int g = 0; g <= last; g++) {
            Loop there = new Loop(lane, 2 * g);
            if (g > 0) {
                there.receive(up.get(g - 1));
            }
            there.inputs.add(place(inputs, g, lane));
            Loop back = new Loop(lane, 2 * g + 1);
            if (g < last) {
                there.send(up.get(g));
                there.posts.add(new Post(down.get(g).credit(), PostKind.WHEN_READY));
                back.waitFor(down.get(g));
            }
            Loop sends = g < last ? back : there;
            if (g == last || !isBulk()) {
                sends.outputs.add(place(outputs, g, lane));
            }
            if (g > 0) {
                sends.sendBack(down.get(g - 1), lane);
            }
            if (g < last && isBulk() && g > 0) {
                back.inputs.add(place(outputs, g, lane));
            }
            List<ProgramLoop> loops = g < last ? List.of(there.loop(), back.loop()) : List.of(there.loop());
            if (shape.blocksPerLane() == 1) {
                blocks.get(g).add(loops);
            } else {
                List<List<ProgramLoop>> own = blocks.get(g);
                loops.forEach(loop -> own.add(List.of(loop)));
            }
        }
    }

    private Place place(long[] buffers, int gpu, int lane) {
        return Place.linear(ProgramLoop.ABSOLUTE, buffers[gpu] + (long) lane * shape.elements() * BYTES);
    }

    private final class Loop {
        private final int lane;
        private final int id;
        private final List<Wait> waits = new ArrayList<>();
        private final List<Place> inputs = new ArrayList<>();
        private final List<Place> outputs = new ArrayList<>();
        private final List<Post> posts = new ArrayList<>();

        Loop(int lane, int id) {
            this.lane = lane;
            this.id = id;
        }

        private Place slots(Channel channel) {
            return Place.slots(
                    channel.slots(), slotBytes(), shape.slots(), isBulk() ? Form.PLAIN : Form.LINES, channel.number());
        }

        /** Takes data from slots, and gives credits for them. */
        void receive(Channel from) {
            inputs.add(slots(from));
            if (isBulk()) {
                waits.add(new Wait(from.data(), 0, from.number()));
                posts.add(new Post(from.credit(), PostKind.WHEN_READY_AND_AFTER_SLICES));
            } else {
                posts.add(new Post(from.credit(), PostKind.WHEN_READY));
            }
        }

        void send(Channel to) {
            int lag = isBulk() ? shape.slots() + shape.excess() : Wait.READINESS;
            waits.add(new Wait(to.credit(), lag, to.number()));
            outputs.add(slots(to));
            if (isBulk()) {
                posts.add(new Post(to.data(), PostKind.AFTER_SLICES));
            }
        }

        /** The sum comes from the GPU behind this one, into the output or in lines. */
        void waitFor(Channel from) {
            if (isBulk()) {
                waits.add(new Wait(from.data(), 0, from.number()));
            } else {
                inputs.add(slots(from));
            }
        }

        void sendBack(Channel to, int lane) {
            waits.add(new Wait(to.credit(), Wait.READINESS, to.number()));
            if (isBulk()) {
                outputs.add(place(ProgramChain.this.outputs, to.to(), lane));
                posts.add(new Post(to.data(), PostKind.AFTER_SLICES));
            } else {
                outputs.add(slots(to));
            }
        }

        ProgramLoop loop() {
            int slices = shape.slices();
            int rest = shape.elements() - (slices - 1) * shape.sliceElements();
            return new ProgramLoop(
                    slices,
                    shape.sliceElements(),
                    rest,
                    waits,
                    inputs,
                    outputs,
                    posts,
                    LANES_APART * (long) lane,
                    1,
                    id,
                    shape.protocol());
        }
    }

    ProgramGpu gpu(int number) {
        return gpus.get(number);
    }

    long base() {
        return base;
    }

    /** Lets a GPU believe that another one, which is not launched, is ready to receive in the first lane. */
    void ready(int gpu, int receiver) {
        Channel channel = channels.stream()
                .filter(any -> any.to() == receiver)
                .findFirst()
                .orElseThrow();
        gpus.get(gpu).put(channel.credit()).putLong(0, base);
        gpus.get(gpu).upload();
    }

    int blocksOf(int gpu) {
        return blocks.get(gpu).size();
    }

    /** Launches the kernel once more on a GPU, without waiting for earlier launches. */
    void launch(int gpu, int workers, long timeout) {
        gpus.get(gpu).launch(functions.get(gpu), tables[gpu], blocksOf(gpu), workers, base, timeout);
    }

    void launchAll(int workers, long timeout) {
        base += BASES_APART;
        for (int g = gpus.size() - 1; g >= 0; g--) {
            launch(g, workers, timeout);
        }
    }

    void await() {
        gpus.forEach(ProgramGpu::await);
    }

    /** Returns whether all launches ended well and all GPUs have the sum. */
    boolean isRight() {
        boolean right = true;
        for (int g = 0; g < gpus.size(); g++) {
            ProgramGpu gpu = gpus.get(g);
            gpu.download();
            right &= gpu.done() == base;
            for (int i = 0; i < expected.length; i++) {
                int bits = gpu.put(outputs[g]).getInt(BYTES * i);
                right &= bits == Float.floatToRawIntBits(expected[i]);
            }
        }
        return right;
    }

    void check() {
        for (int g = 0; g < gpus.size(); g++) {
            ProgramGpu gpu = gpus.get(g);
            for (int block = 0; block < blocksOf(g); block++) {
                assertThat(gpu.status(block).code())
                        .as("status of GPU %d: %s", g, gpu.status(block))
                        .isEqualTo(ProgramStatus.Code.NONE);
            }
            gpu.download();
            float[] sums = new float[expected.length];
            for (int i = 0; i < expected.length; i++) {
                sums[i] = gpu.put(outputs[g]).getFloat(BYTES * i);
            }
            assertThat(sums).as("GPU %d of %s", g, shape).isEqualTo(expected);
            assertThat(gpu.done()).isEqualTo(base);
        }
        assertThat(emulator.problems()).isEmpty();
    }
}
