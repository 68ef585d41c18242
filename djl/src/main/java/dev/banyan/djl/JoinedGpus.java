package dev.banyan.djl;

import ai.djl.ndarray.NDArray;
import dev.banyan.cuda.CudaStreams;
import dev.banyan.mpi.HierarchicalCommunicator;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.schedule.type.ReduceOp;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A GPU of each process, where arrays are averaged in place. Not safe for use from several threads. */
final class JoinedGpus {
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
    CompletableFuture<Void> average(List<NDArray> arrays) {
        return communicator.enqueueAll(
                arrays.stream()
                        .map(array -> CollectiveCall.allReduce(
                                List.of(TorchGpus.memory(array)), array.size(), HostArray.type(array), ReduceOp.AVG))
                        .toList(),
                streams);
    }
}
