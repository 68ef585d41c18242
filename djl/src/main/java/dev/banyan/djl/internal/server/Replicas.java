package dev.banyan.djl.internal.server;

import ai.djl.Device;
import ai.djl.pytorch.engine.PtNDArray;
import ai.djl.pytorch.jni.JniUtils;
import dev.banyan.config.Config;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.djl.internal.torch.Slot;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The replicas in this process. For each parameter, the first replica receives the sum of the gradients, the optimiser
 * updates its parameter, and the other replicas receive a copy, unless they share its memory. That moves no more bytes
 * than an allreduce of the gradients, and the optimiser runs and counts once. Not safe for use from several threads.
 */
public interface Replicas extends AutoCloseable {
    /** Returns the number of replicas, at least 2. */
    int size();

    /** Sums each gradient of all replicas into that of the first. */
    void sum(List<Slot> slots);

    /** Copies each parameter of the first replica to all others. */
    void spread(List<Slot> slots);

    @Override
    void close();

    /**
     * Opens replicas on GPUs if each is on a GPU of its own. If that fails, with a warning, or if they are elsewhere,
     * PyTorch does the work.
     */
    static Replicas start(List<Device> devices, Config config) {
        if (GpuReplicas.areGpus(devices)) {
            try {
                return GpuReplicas.start(devices, config);
            } catch (CudaException | IllegalStateException e) {
                Logger log = LoggerFactory.getLogger(Replicas.class);
                log.warn("gradients of {} are summed up by PyTorch: {}", devices, e.getMessage());
            }
        }
        return new TorchReplicas(devices.size());
    }

    /** Clears the gradients of all replicas except the first, whose gradient the optimiser has cleared. */
    static void clearOthers(Slot slot) {
        slot.parameters().stream().skip(1).forEach(parameter -> JniUtils.zeroGrad((PtNDArray) parameter));
    }
}
