package dev.banyan.djl;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.optimizer.Optimizer;
import dev.banyan.config.Config;
import dev.banyan.djl.internal.processes.Processes;
import dev.banyan.djl.internal.server.BanyanParameterServer;
import dev.banyan.djl.internal.server.GpuReplicas;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Updates of parameters in the memory of four emulated GPUs, which is this process's, so that DJL's arrays can lie
 * there.
 */
final class GpuProgram {
    private static final int GPUS = 4;
    private static final int[] COUNTS = {5, 1, 300_000};
    private static final int STEPS = 3;

    private final Communicator gpus;
    private final NDManager manager;
    private final MemorySegment small;

    private GpuProgram(Communicator gpus, NDManager manager) {
        this.gpus = gpus;
        this.manager = manager;
        small = gpus.allocate(0, Float.BYTES);
    }

    public static void main(String[] arguments) {
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.STAR))
                .load();
        try (Communicator gpus = Communicator.onGpus(Machine.preset("p3.8xlarge"), config, 0, 1, 2, 3);
                NDManager manager = Engine.getEngine("PyTorch").newBaseManager()) {
            new GpuProgram(gpus, manager).train();
        }
        System.out.println("passed");
    }

    private void train() {
        // Closes the communicator too, which may be closed twice.
        try (BanyanParameterServer server =
                new BanyanParameterServer(new Subtraction(), Processes.ALONE, 0, _ -> new GpuReplicas(gpus))) {
            List<NDArray[]> parameters = new ArrayList<>();
            List<NDArray[]> gradients = new ArrayList<>();
            for (int key = 0; key < COUNTS.length; key++) {
                parameters.add(arrays(COUNTS[key], 100));
                gradients.add(arrays(COUNTS[key], 0));
                server.init("p" + key, parameters.get(key));
            }
            for (int step = 0; step < STEPS; step++) {
                for (int key = 0; key < COUNTS.length; key++) {
                    for (int gpu = 0; gpu < GPUS; gpu++) {
                        gradients.get(key)[gpu].muli(0).addi(1 + gpu);
                    }
                    server.update("p" + key, gradients.get(key), parameters.get(key));
                }
                await();
            }
            for (NDArray[] replicas : parameters) {
                for (NDArray replica : replicas) {
                    // 1 + 2 + 3 + 4 are subtracted in each step.
                    if (replica.neq(100 - 10 * STEPS).any().getBoolean()) {
                        throw new AssertionError(Arrays.toString(replica.toFloatArray()));
                    }
                }
            }
        }
    }

    private NDArray[] arrays(int count, int value) {
        NDArray[] arrays = new NDArray[GPUS];
        for (int gpu = 0; gpu < GPUS; gpu++) {
            arrays[gpu] = array(gpu, count).addi(value);
        }
        return arrays;
    }

    /** DJL makes an array of a direct buffer where the buffer lies. */
    @SuppressWarnings("restricted")
    private NDArray array(int gpu, int count) {
        long bytes = (long) count * Float.BYTES;
        MemorySegment memory =
                MemorySegment.ofAddress(gpus.allocate(gpu, bytes).address()).reinterpret(bytes);
        return manager.create(memory.asByteBuffer().order(ByteOrder.nativeOrder()), new Shape(count), DataType.FLOAT32);
    }

    /** Returns when all collectives have ended: this one comes after them. */
    private void await() {
        gpus.run(CollectiveCall.broadcast(
                List.of(small, gpus.allocate(1, 4), gpus.allocate(2, 4), gpus.allocate(3, 4)),
                1,
                dev.banyan.schedule.type.DataType.F32));
    }

    /** Works on the CPU, so that it waits for the collectives by itself. */
    private final class Subtraction extends Optimizer {
        Subtraction() {
            super(new Builder());
        }

        @Override
        public void update(String parameterId, NDArray weight, NDArray grad) {
            await();
            weight.subi(grad);
        }
    }

    private static final class Builder extends Optimizer.OptimizerBuilder<Builder> {
        @Override
        protected Builder self() {
            return this;
        }
    }
}
