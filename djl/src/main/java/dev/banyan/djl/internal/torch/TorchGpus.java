package dev.banyan.djl.internal.torch;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import dev.banyan.config.Config;
import dev.banyan.cuda.CudaBackend;
import dev.banyan.reduce.Communicator;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** GPUs of this process, which PyTorch and CUDA count alike, and PyTorch's arrays there. */
public final class TorchGpus {
    private TorchGpus() {}

    /**
     * Creates a communicator on GPUs.
     *
     * @param devices the GPU of each rank
     * @throws dev.banyan.cuda.type.CudaException if CUDA cannot use them
     * @throws IllegalStateException if the machine cannot be probed, or the devices are not distinct GPUs of it
     */
    public static Communicator open(List<Device> devices, Config config) {
        int[] ordinals = devices.stream().mapToInt(Device::getDeviceId).toArray();
        return Communicator.onGpus(config, ordinals);
    }

    /**
     * Returns the elements of an array on a GPU.
     *
     * @throws IllegalStateException if they are not accessible or not consecutive
     */
    public static MemorySegment memory(NDArray array) {
        long address = TorchMemory.address(array)
                .orElseThrow(
                        () -> new IllegalStateException("array " + array.getName() + " of shape " + array.getShape()
                                + " does not lie row by row where it can be reached; train dense parameters"));
        return CudaBackend.memory(address, array.size() * HostArray.type(array).bytes());
    }
}
