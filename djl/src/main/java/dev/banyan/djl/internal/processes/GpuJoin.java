package dev.banyan.djl.internal.processes;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.djl.internal.torch.TorchGpus;
import dev.banyan.djl.internal.torch.TorchMemory;
import dev.banyan.mpi.HierarchicalCommunicator;
import dev.banyan.mpi.World;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides, alike in all processes, whether gradients are averaged on GPUs, and joins these. They stay joined until the
 * process ends and serve all trainers: to leave is a collective, for which a process that fails must not wait. Not safe
 * for use from several threads.
 */
final class GpuJoin {
    private static final Logger LOG = LoggerFactory.getLogger(GpuJoin.class);

    /**
     * The GPU of this process and its place among the joined ones.
     *
     * @param device the GPU of this process
     */
    private record Opened(Device device, JoinedGpus gpus) {}

    private final World world;
    /** Null in all processes, or in none. */
    private @Nullable Opened opened;

    GpuJoin(World world) {
        this.world = world;
    }

    /**
     * Returns the GPUs of all processes. All processes call it.
     *
     * @param devices the devices of this process's replicas
     * @param gradients what is to be averaged there
     * @return null in all processes, with a warning if one has a GPU, unless each has one that all others reach
     */
    @Nullable
    JoinedGpus join(List<Device> devices, List<NDArray> gradients) {
        long onGpus = sum(devices.stream().allMatch(Device::isGpu) ? 1 : 0);
        if (onGpus == 0) {
            return null;
        }
        String refusal = onGpus < world.size()
                ? "only " + onGpus + " of the " + world.size() + " processes train on GPUs"
                : refusal(devices, gradients);
        Communicator own = null;
        if (refusal == null && opened == null) {
            try {
                own = TorchGpus.open(devices, world.config());
            } catch (CudaException | IllegalStateException e) {
                refusal = String.valueOf(e.getMessage());
            }
        }
        if (!allAgree(refusal)) {
            if (own != null) {
                own.close();
            }
            return null;
        }
        if (own != null) {
            opened = open(devices.getFirst(), own);
        }
        return opened == null ? null : opened.gpus();
    }

    /** Returns why this process cannot average these gradients on a GPU, or null if it may be able to. */
    private @Nullable String refusal(List<Device> devices, List<NDArray> gradients) {
        if (devices.size() > 1) {
            return "this process trains on " + devices + "; give each process a GPU of its own by CUDA_VISIBLE_DEVICES";
        }
        Opened before = opened;
        if (before != null && !before.device().equals(devices.getFirst())) {
            return "this process trains on " + devices.getFirst() + ", but on " + before.device()
                    + " before; train on one GPU";
        }
        return gradients.stream()
                .filter(gradient -> TorchMemory.address(gradient).isEmpty())
                .findFirst()
                .map(gradient -> "a gradient of shape " + gradient.getShape()
                        + " does not lie row by row where it can be reached")
                .orElse(null);
    }

    /** Joins the GPUs and tries them; all processes call it. */
    private @Nullable Opened open(Device device, Communicator own) {
        HierarchicalCommunicator all = HierarchicalCommunicator.create(world, own);
        if (all.joinsDevices() && allAgree(failure(all, own))) {
            LOG.info("gradients of {} processes are averaged on their GPUs, here {}", world.size(), device);
            return new Opened(device, new JoinedGpus(all));
        }
        all.close();
        own.close();
        LOG.info("gradients on {} go through the host's memory", device);
        return null;
    }

    /** Returns why an allreduce fails, or null. */
    private static @Nullable String failure(HierarchicalCommunicator all, Communicator own) {
        try {
            all.allReduce(List.of(own.allocate(0, Float.BYTES)), 1, DataType.F32, ReduceOp.AVG);
            return null;
        } catch (RuntimeException e) {
            return String.valueOf(e.getMessage());
        }
    }

    /** Returns whether no process has a reason to refuse, and warns if one has. */
    private boolean allAgree(@Nullable String refusal) {
        boolean agree = sum(refusal == null ? 0 : 1) == 0;
        if (!agree) {
            LOG.warn(
                    "gradients go through the host's memory: {}",
                    refusal == null ? "another process can't use its GPU for them; see what it logs" : refusal);
        }
        return agree;
    }

    private long sum(int number) {
        return world.all().combine(number, ReduceOp.SUM);
    }
}
