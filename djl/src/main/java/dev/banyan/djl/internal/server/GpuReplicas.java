package dev.banyan.djl.internal.server;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import dev.banyan.config.Config;
import dev.banyan.djl.internal.torch.HostArray;
import dev.banyan.djl.internal.torch.Slot;
import dev.banyan.djl.internal.torch.TorchGpus;
import dev.banyan.reduce.Communicator;
import java.util.List;

/** Replicas on GPUs, one on each. Collectives work on PyTorch's arrays in place, by {@link GpuBatches}. */
public final class GpuReplicas implements Replicas {
    private final GpuBatches batches;

    /** @param communicator the communicator on the GPUs of the replicas, which this object closes */
    public GpuReplicas(Communicator communicator) {
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
     * @throws dev.banyan.cuda.type.CudaException if CUDA cannot use them
     * @throws IllegalStateException if the machine cannot be probed, or the devices are not distinct GPUs of it
     */
    public static GpuReplicas start(List<Device> devices, Config config) {
        if (!areGpus(devices)) {
            throw new IllegalStateException("the replicas are not on GPUs of their own");
        }
        return new GpuReplicas(TorchGpus.open(devices, config));
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
        return new GpuBatches.Arrays(
                replicas.stream().map(TorchGpus::memory).toList(), count, HostArray.type(replicas.getFirst()));
    }

    @Override
    public void close() {
        batches.close();
    }
}
