package dev.banyan.djl.internal.processes;

import ai.djl.ndarray.NDArray;
import dev.banyan.cuda.type.CudaStreams;
import dev.banyan.djl.internal.torch.HostArray;
import dev.banyan.djl.internal.torch.TorchGpus;
import dev.banyan.mpi.HierarchicalCommunicator;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.schedule.type.ReduceOp;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A GPU of each process, where arrays are averaged in place. Not safe for use from several threads. */
public final class JoinedGpus {
    private final HierarchicalCommunicator communicator;
    /** The stream that has PyTorch's work. */
    private final CudaStreams streams = CudaStreams.defaults(1);

    /** @param communicator the communicator over one GPU of each process */
    JoinedGpus(HierarchicalCommunicator communicator) {
        this.communicator = communicator;
    }

    /**
     * Averages arrays over all processes in place, after PyTorch's work on this GPU and before its later work. All
     * processes call it with the same types and counts.
     *
     * @param arrays on this process's GPU; they stay open until the future completes
     * @return completes when all have been averaged
     * @throws IllegalStateException if an array does not lie row by row
     */
    public CompletableFuture<Void> average(List<NDArray> arrays) {
        return communicator.enqueueAll(
                arrays.stream()
                        .map(array -> CollectiveCall.allReduce(
                                List.of(TorchGpus.memory(array)), array.size(), HostArray.type(array), ReduceOp.AVG))
                        .toList(),
                streams);
    }
}
