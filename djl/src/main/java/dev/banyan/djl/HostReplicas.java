package dev.banyan.djl;

import ai.djl.ndarray.NDArray;
import dev.banyan.config.Config;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.HostMachine;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Replicas whose arrays are in host memory or are copied there and back. */
final class HostReplicas implements Replicas {
    private final Communicator communicator;

    /** @param replicas at least 2 */
    HostReplicas(int replicas, Config config) {
        communicator = Communicator.create(HostMachine.of("replicas", "replica", replicas), config);
    }

    @Override
    public int size() {
        return communicator.size();
    }

    @Override
    public void sum(List<Slot> slots) {
        List<Copies> all =
                slots.stream().map(slot -> Copies.of(slot.gradients())).toList();
        communicator.runAll(all.stream()
                .map(copies -> CollectiveCall.reduce(copies.memory(), copies.count(), copies.type(), ReduceOp.SUM, 0))
                .toList());
        all.forEach(copies -> copies.arrays().getFirst().writeBack());
    }

    @Override
    public void spread(List<Slot> slots) {
        List<Copies> all =
                slots.stream().map(slot -> Copies.of(slot.parameters())).toList();
        communicator.runAll(all.stream()
                .map(copies -> CollectiveCall.broadcast(copies.memory(), copies.count(), copies.type(), 0))
                .toList());
        all.forEach(copies -> copies.arrays().stream().skip(1).forEach(HostArray::writeBack));
    }

    /** The arrays of all replicas that are copies of each other, or become so. */
    private record Copies(List<HostArray> arrays) {
        static Copies of(List<NDArray> replicas) {
            return new Copies(replicas.stream().map(HostArray::of).toList());
        }

        List<MemorySegment> memory() {
            return arrays.stream().map(HostArray::memory).toList();
        }

        long count() {
            return arrays.getFirst().array().size();
        }

        DataType type() {
            return HostArray.type(arrays.getFirst().array());
        }
    }

    @Override
    public void close() {
        communicator.close();
    }
}
