package dev.banyan.djl;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import dev.banyan.config.Config;
import dev.banyan.cuda.CudaBackend;
import dev.banyan.cuda.CudaDevices;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.topology.Machine;
import dev.banyan.topology.ThisMachine;
import java.util.Arrays;
import java.util.List;

/** Replicas on GPUs, one on each. Collectives work on PyTorch's arrays in place, by {@link GpuBatches}. */
final class GpuReplicas implements Replicas {
    private final GpuBatches batches;

    /** @param communicator the communicator on the GPUs of the replicas, which this object closes */
    GpuReplicas(Communicator communicator) {
        batches = new GpuBatches(communicator);
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
        return batches.size();
    }

    @Override
    public void sum(List<Slot> slots) {
        batches.sum(slots.stream()
                .map(slot -> arrays(slot.gradients(), slot.count()))
                .toList());
    }

    @Override
    public void spread(List<Slot> slots) {
        batches.spread(slots.stream()
                .map(slot -> arrays(slot.parameters(), slot.count()))
                .toList());
    }

    private static GpuBatches.Arrays arrays(List<NDArray> replicas, long count) {
        DataType type = HostArray.type(replicas.getFirst());
        return new GpuBatches.Arrays(
                replicas.stream()
                        .map(array -> CudaBackend.memory(address(array), count * type.bytes()))
                        .toList(),
                count,
                type);
    }

    private static long address(NDArray array) {
        return TorchMemory.address(array)
                .orElseThrow(
                        () -> new IllegalStateException("array " + array.getName() + " of shape " + array.getShape()
                                + " does not lie row by row where it can be reached; train dense parameters"));
    }

    @Override
    public void close() {
        batches.close();
    }
}
