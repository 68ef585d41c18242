package dev.banyan.djl;

import ai.djl.Device;
import ai.djl.pytorch.engine.PtNDArray;
import ai.djl.pytorch.jni.JniUtils;
import dev.banyan.config.Config;
import dev.banyan.cuda.CudaException;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The replicas in this process. Of each parameter, gradients are summed up in that of the first replica, which alone is
 * worked in, and the result goes to the others: that moves as few bytes as to give all the sum, and the optimiser works
 * and counts once. Not safe for use from several threads.
 */
interface Replicas extends AutoCloseable {
    /** How many, at least 2. */
    int size();

    /** Makes the first replica's gradient the sum of all. */
    void sum(Slot slot);

    /** Makes a parameter of all replicas what the first's is. */
    void spread(Slot slot);

    @Override
    void close();

    /** On GPUs if all are on different ones, which may not work and is told then; else by way of the host's memory. */
    static Replicas start(List<Device> devices, Config config) {
        if (GpuReplicas.areGpus(devices)) {
            try {
                return GpuReplicas.start(devices, config);
            } catch (CudaException | IllegalStateException e) {
                Logger log = LoggerFactory.getLogger(Replicas.class);
                log.warn("gradients of {} go through the host's memory: {}", devices, e.getMessage());
            }
        }
        return new HostReplicas(devices.size(), config);
    }

    /** Clears the gradients of all but the first replica, whose optimiser has done so. */
    static void clearOthers(Slot slot) {
        for (int i = 1; i < slot.replicas(); i++) {
            JniUtils.zeroGrad((PtNDArray) slot.parameter(i));
        }
    }
}
