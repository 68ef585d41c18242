package dev.banyan.djl;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import dev.banyan.config.Config;
import dev.banyan.cuda.CudaBackend;
import dev.banyan.cuda.CudaDevices;
import dev.banyan.cuda.CudaStreams;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.Completions;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import dev.banyan.topology.ThisMachine;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Replicas on GPUs, one on each. Collectives work on PyTorch's arrays in place and are enqueued in its default streams,
 * so that they are ordered with PyTorch's work and this thread need not wait. The next call, or {@link #close}, reports
 * a collective that failed.
 */
final class GpuReplicas implements Replicas {
    private final Communicator communicator;
    private final CudaStreams streams;
    /** Completes when all collectives so far have ended; fails if one failed. */
    private CompletableFuture<Void> begun = CompletableFuture.completedFuture(null);

    /** @param communicator the communicator on the GPUs of the replicas, which this object closes */
    GpuReplicas(Communicator communicator) {
        this.communicator = communicator;
        streams = CudaStreams.defaults(communicator.size());
    }

    /** Returns whether the devices are several GPUs, none of them twice. */
    static boolean areGpus(List<Device> devices) {
        return devices.size() > 1
                && devices.stream().allMatch(Device::isGpu)
                && devices.stream().distinct().count() == devices.size();
    }

    /**
     * Opens the GPUs.
     *
     * @param devices the GPUs, as PyTorch and CUDA count them
     * @throws dev.banyan.cuda.CudaException if CUDA cannot use them
     * @throws IllegalStateException if the machine cannot be probed, or the devices are not distinct GPUs of it
     */
    static GpuReplicas start(List<Device> devices, Config config) {
        if (!areGpus(devices)) {
            throw new IllegalStateException("the replicas are not on GPUs of their own");
        }
        int[] ordinals = devices.stream().mapToInt(Device::getDeviceId).toArray();
        List<String> busIds = CudaDevices.busIds();
        Machine machine = thisMachine();
        int[] places = Arrays.stream(ordinals)
                .map(ordinal -> place(machine, busIds.get(ordinal)))
                .toArray();
        return new GpuReplicas(Communicator.onGpus(machine.subset(places), config, ordinals));
    }

    private static Machine thisMachine() {
        return switch (ThisMachine.look()) {
            case ThisMachine.Found found -> found.machine();
            case ThisMachine.Missing missing -> throw new IllegalStateException(missing.reason());
        };
    }

    private static int place(Machine machine, String busId) {
        return machine.deviceAt(busId)
                .orElseThrow(() -> new IllegalStateException("the GPU at " + busId
                        + " is not among those that the probe found usable; run banyan probe to see why"));
    }

    @Override
    public int size() {
        return communicator.size();
    }

    @Override
    public void sum(Slot slot) {
        run(Collective.REDUCE, slot, slot.type(), slot.gradients());
    }

    @Override
    public void spread(Slot slot) {
        run(Collective.BROADCAST, slot, HostArray.type(slot.parameters().getFirst()), slot.parameters());
    }

    private void run(Collective collective, Slot slot, DataType type, List<NDArray> arrays) {
        if (begun.isCompletedExceptionally()) {
            Completions.join(begun);
        }
        List<MemorySegment> buffers = arrays.stream()
                .map(array -> CudaBackend.memory(address(array), slot.count() * type.bytes()))
                .toList();
        CompletableFuture<Void> next = communicator.enqueue(
                CollectiveCall.inPlace(collective, 0, slot.count(), type, ReduceOp.SUM, buffers), streams);
        begun = CompletableFuture.allOf(begun, next);
    }

    private static long address(NDArray array) {
        return TorchMemory.address(array)
                .orElseThrow(
                        () -> new IllegalStateException("array " + array.getName() + " of shape " + array.getShape()
                                + " does not lie row by row where it can be reached; train dense parameters"));
    }

    @Override
    public void close() {
        communicator.close();
        Completions.join(begun);
    }
}
