package dev.banyan.djl;

import ai.djl.ndarray.NDArray;
import dev.banyan.config.Config;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Device;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** Replicas whose arrays are in host memory or are copied there and back. */
final class HostReplicas implements Replicas {
    /** Assumed; all links are equal, as all data is in host memory. */
    private static final double GBS = 16;

    private static final double LATENCY_US = 1;

    private final Communicator communicator;

    /** @param replicas at least 2 */
    HostReplicas(int replicas, Config config) {
        communicator = Communicator.create(machine(replicas), config);
    }

    private static Machine machine(int replicas) {
        List<Device> devices = IntStream.range(0, replicas)
                .mapToObj(i -> Device.named("replica" + i))
                .toList();
        List<Link> links = new ArrayList<>();
        for (int a = 0; a < replicas; a++) {
            for (int b = a + 1; b < replicas; b++) {
                links.add(Link.duplex(a, b, Link.Kind.PCIE, 1, GBS, LATENCY_US));
            }
        }
        return new Machine("replicas", devices, List.of(), links, List.of(), List.of());
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
