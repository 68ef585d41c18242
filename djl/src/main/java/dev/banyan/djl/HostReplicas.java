package dev.banyan.djl;

import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Device;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
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
    public void sum(Slot slot) {
        List<HostArray> gradients = slot.gradients().stream().map(HostArray::of).toList();
        communicator.reduce(
                gradients.stream().map(HostArray::memory).toList(), slot.count(), slot.type(), ReduceOp.SUM, 0);
        gradients.getFirst().writeBack();
    }

    @Override
    public void spread(Slot slot) {
        List<HostArray> parameters =
                slot.parameters().stream().map(HostArray::of).toList();
        communicator.broadcast(
                parameters.stream().map(HostArray::memory).toList(),
                slot.count(),
                HostArray.type(slot.parameters().getFirst()),
                0);
        parameters.stream().skip(1).forEach(HostArray::writeBack);
    }

    @Override
    public void close() {
        communicator.close();
    }
}
