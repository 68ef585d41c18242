package dev.banyan.djl;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.optimizer.Optimizer;
import dev.banyan.config.Config;
import dev.banyan.cuda.type.CudaStreams;
import dev.banyan.djl.internal.processes.JoinedGpus;
import dev.banyan.djl.internal.processes.Launch;
import dev.banyan.djl.internal.processes.Processes;
import dev.banyan.djl.internal.server.BanyanParameterServer;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One of two processes, each with an emulated GPU of its own, whose memory is the process's, so that DJL's arrays can
 * lie there. They train several times in turn.
 */
final class JoinedGpusProgram {
    private static final int[] COUNTS = {5, 1, 70_001};
    private static final int STEPS = 3;
    private static final String KERNELS = "kernels";
    private static final String COPIES = "calls cuMemcpyDtoHAsync";
    private static final String OPENED = "calls cuMemImportFromShareableHandle";

    private final Communicator gpu;
    private final NDManager manager;
    private final int rank = Launch.PROCESSES.rank();
    private final Device own = Device.gpu(rank);
    private final MemorySegment small;

    private JoinedGpusProgram(Communicator gpu, NDManager manager) {
        this.gpu = gpu;
        this.manager = manager;
        small = gpu.allocate(0, Float.BYTES);
    }

    public static void main(String[] arguments) throws Throwable {
        int rank = Launch.PROCESSES.rank();
        try (Communicator gpu =
                        Communicator.onGpus(Machine.preset("p3.16xlarge").subset(rank), Config.load(), rank);
                NDManager manager = Engine.getEngine("PyTorch").newBaseManager()) {
            new JoinedGpusProgram(gpu, manager).run();
        }
        require(emulated("problems") == 0, "the emulated driver has no complaint");
        System.out.println("passed");
    }

    private void run() throws Throwable {
        trainOnHost(new Shown(rank == 0 ? own : Device.cpu()));
        trainOnHost(new Shown(own) {
            @Override
            public @Nullable JoinedGpus joinGpus(List<Device> devices, List<NDArray> gradients) {
                NDArray columns = manager.zeros(new Shape(3, 2)).transpose();
                return super.joinGpus(devices, rank == 0 ? List.of(columns) : gradients);
            }
        });
        tell("peer 0 1 none");
        trainOnHost(new Shown(own));
        tell("peer 0 1 0");
        trainOnGpus(new Shown(own));
        long opened = emulated(OPENED);
        trainOnGpus(new Shown(own));
        require(opened > 0 && emulated(OPENED) == opened, "the next trainer takes the GPUs that are joined");
        trainOnHost(new Shown(rank == 0 ? Device.gpu(2) : own));
        trainOnHost(new Shown(own, Device.gpu(2)));
        batch();
    }

    private void trainOnHost(Shown processes) throws Throwable {
        long kernels = emulated(KERNELS);
        train(processes);
        require(processes.averages == STEPS * COUNTS.length, "each gradient goes through the host");
        require(processes.joined == null && kernels == emulated(KERNELS), "no kernel reduces");
    }

    private void trainOnGpus(Shown processes) throws Throwable {
        train(processes);
        require(processes.averages == 0 && processes.joined != null, "no gradient goes through the host");
        long kernels = emulated(KERNELS);
        long copies = emulated(COPIES);
        train(processes);
        require(processes.averages == 0, "no gradient goes through the host");
        require(emulated(KERNELS) == kernels + (long) STEPS * COUNTS.length, "a kernel reduces each gradient");
        require(emulated(COPIES) == copies, "nothing is copied to the host");
    }

    private void train(Processes processes) {
        try (BanyanParameterServer server = new BanyanParameterServer(new Subtraction(), processes, Config.load())) {
            List<Array> parameters = new ArrayList<>();
            List<Array> gradients = new ArrayList<>();
            for (int key = 0; key < COUNTS.length; key++) {
                parameters.add(new Array(COUNTS[key]));
                gradients.add(new Array(COUNTS[key]));
                // The first process's value is that of all.
                parameters.get(key).fill(rank + 1);
                server.init("p" + key, new NDArray[] {parameters.get(key).array()});
            }
            for (int step = 1; step <= STEPS; step++) {
                for (int key = 0; key < COUNTS.length; key++) {
                    gradients.get(key).fill(step * (rank + 1));
                    server.update("p" + key, new NDArray[] {gradients.get(key).array()}, new NDArray[] {
                        parameters.get(key).array()
                    });
                }
            }
            // The mean of 1 and 2 is subtracted, times 1 + 2 + 3.
            parameters.forEach(parameter -> parameter.requireFilled(1 - 1.5f * 6));
        }
    }

    /** Averages several arrays together. */
    private void batch() {
        JoinedGpus joined =
                Objects.requireNonNull(Launch.PROCESSES.joinGpus(List.of(own), List.of()), "the GPUs stay joined");
        List<Array> arrays = List.of(new Array(3), new Array(4099), new Array(1));
        arrays.forEach(array -> array.fill(rank));
        joined.average(arrays.stream().map(Array::array).toList()).join();
        arrays.forEach(array -> array.requireFilled(0.5f));
    }

    /** The processes as they are on GPUs: DJL takes the emulated ones for memory of the host. */
    private static class Shown implements Processes {
        private final List<Device> devices;
        private int averages;
        private @Nullable JoinedGpus joined;

        Shown(Device... devices) {
            this.devices = List.of(devices);
        }

        @Override
        public int rank() {
            return Launch.PROCESSES.rank();
        }

        @Override
        public int size() {
            return Launch.PROCESSES.size();
        }

        @Override
        public void broadcast(MemorySegment buffer, long count, DataType type) {
            Launch.PROCESSES.broadcast(buffer, count, type);
        }

        @Override
        public CompletableFuture<Void> average(MemorySegment buffer, long count, DataType type) {
            averages++;
            return Launch.PROCESSES.average(buffer, count, type);
        }

        @Override
        public int sum(int number) {
            return Launch.PROCESSES.sum(number);
        }

        @Override
        public CompletableFuture<Void> sum(
                List<MemorySegment> buffers, long count, DataType type, int contributions, int divisor) {
            return Launch.PROCESSES.sum(buffers, count, type, contributions, divisor);
        }

        @Override
        public @Nullable JoinedGpus joinGpus(List<Device> hosts, List<NDArray> gradients) {
            joined = Launch.PROCESSES.joinGpus(devices, gradients);
            return joined;
        }
    }

    /** An array in the memory of this process's GPU. DJL makes an array of a direct buffer where the buffer lies. */
    private final class Array {
        private final MemorySegment memory;
        private final NDArray array;

        @SuppressWarnings("restricted")
        Array(int count) {
            long bytes = (long) count * Float.BYTES;
            memory = MemorySegment.ofAddress(gpu.allocate(0, bytes).address()).reinterpret(bytes);
            array = manager.create(
                    memory.asByteBuffer().order(ByteOrder.nativeOrder()),
                    new Shape(count),
                    ai.djl.ndarray.types.DataType.FLOAT32);
        }

        NDArray array() {
            return array;
        }

        /** Fills it with a factor times small numbers. */
        void fill(float factor) {
            for (long i = 0; i < array.size(); i++) {
                memory.setAtIndex(ValueLayout.JAVA_FLOAT, i, factor * (i % 7 + 1));
            }
        }

        void requireFilled(float factor) {
            for (long i = 0; i < array.size(); i++) {
                float found = memory.getAtIndex(ValueLayout.JAVA_FLOAT, i);
                require(
                        found == factor * (i % 7 + 1),
                        "element " + i + " is " + factor * (i % 7 + 1) + " (" + found + ")");
            }
        }
    }

    /** Works on the CPU, so that it waits for what is in the GPU's stream by itself. */
    private final class Subtraction extends Optimizer {
        Subtraction() {
            super(new Builder());
        }

        @Override
        public void update(String parameterId, NDArray weight, NDArray grad) {
            gpu.enqueue(CollectiveCall.broadcast(List.of(small), 0, DataType.F32), CudaStreams.defaults(1))
                    .join();
            weight.subi(grad);
        }
    }

    private static final class Builder extends Optimizer.OptimizerBuilder<Builder> {
        @Override
        protected Builder self() {
            return this;
        }
    }

    private static long emulated(String count) throws Throwable {
        try (Arena arena = Arena.ofConfined()) {
            return (long) function("banyan_emu_count", ValueLayout.JAVA_LONG).invokeExact(arena.allocateFrom(count));
        }
    }

    private static void tell(String command) throws Throwable {
        try (Arena arena = Arena.ofConfined()) {
            int bad =
                    (int) function("banyan_emu_command", ValueLayout.JAVA_INT).invokeExact(arena.allocateFrom(command));
            require(bad == 0, "the emulated driver understands " + command);
        }
    }

    @SuppressWarnings("restricted")
    private static MethodHandle function(String name, ValueLayout result) {
        return Linker.nativeLinker()
                .downcallHandle(
                        SymbolLookup.libraryLookup("libcuda.so.1", Arena.global())
                                .find(name)
                                .orElseThrow(),
                        FunctionDescriptor.of(result, ValueLayout.ADDRESS));
    }

    private static void require(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError("not so: " + what);
        }
    }
}
