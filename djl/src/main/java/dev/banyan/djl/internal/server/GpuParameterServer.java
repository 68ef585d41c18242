package dev.banyan.djl.internal.server;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.training.ParameterServer;
import ai.djl.training.optimizer.Optimizer;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.djl.internal.processes.Processes;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The parameter server of a single process on a machine with several GPUs. The first update decides: Banyan's server
 * does the work if the trainer has replicas on several GPUs that Banyan can use, otherwise DJL's own server. Not safe
 * for use from several threads.
 */
public final class GpuParameterServer implements ParameterServer {
    private static final Logger LOG = LoggerFactory.getLogger(GpuParameterServer.class);

    private final Optimizer optimizer;
    private final ParameterServer own;
    private final long bucketBytes;
    private final Function<List<Device>, Replicas> start;
    private final Map<String, NDArray[]> initial = new LinkedHashMap<>();
    private @Nullable ParameterServer chosen;

    /**
     * @param own the server of DJL
     * @param bucketBytes the greatest length of a bucket of several gradients, in bytes
     * @param start opens the replicas on several devices; throws a CudaException or IllegalStateException if it cannot
     */
    public GpuParameterServer(
            Optimizer optimizer, ParameterServer own, long bucketBytes, Function<List<Device>, Replicas> start) {
        this.optimizer = optimizer;
        this.own = own;
        this.bucketBytes = bucketBytes;
        this.start = start;
    }

    @Override
    public void init(String parameterId, NDArray[] value) {
        if (chosen == null) {
            initial.put(parameterId, value);
        } else {
            chosen.init(parameterId, value);
        }
    }

    @Override
    public void update(String parameterId, NDArray[] params) {
        server(params).update(parameterId, params);
    }

    @Override
    public void update(String parameterId, NDArray[] grads, NDArray[] params) {
        server(params).update(parameterId, grads, params);
    }

    private ParameterServer server(NDArray[] params) {
        ParameterServer server = chosen;
        if (server == null) {
            server = choose(Arrays.stream(params).map(NDArray::getDevice).toList());
            initial.forEach(server::init);
            initial.clear();
            chosen = server;
        }
        return server;
    }

    private ParameterServer choose(List<Device> devices) {
        if (devices.size() == 1) {
            return own;
        }
        try {
            Replicas replicas = start.apply(devices);
            LOG.info("gradients of {} are summed up by Banyan", devices);
            return new BanyanParameterServer(optimizer, Processes.ALONE, bucketBytes, _ -> replicas);
        } catch (CudaException | IllegalStateException e) {
            LOG.warn("DJL trains on {} without Banyan: {}", devices, e.getMessage());
            return own;
        }
    }

    @Override
    public void close() {
        (chosen == null ? own : chosen).close();
    }
}
