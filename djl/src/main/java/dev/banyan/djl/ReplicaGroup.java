package dev.banyan.djl;

import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.Config;
import dev.banyan.reduce.type.ReduceOp;
import dev.banyan.topology.Device;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The replicas in this process, whose arrays all lie in the host's memory. Of each parameter, gradients are summed up in
 * that of the first replica, which alone is worked in, and the result goes to the others: that moves fewer bytes than to
 * give all the sum, and each parameter stays in the processor's cache. Not safe for use from several threads.
 */
final class ReplicaGroup implements AutoCloseable {
    /** In the host's memory all links are the same one. */
    private static final double GBS = 16;

    private static final double LATENCY_US = 1;

    private final Communicator communicator;

    /** @param replicas at least 2 */
    ReplicaGroup(int replicas, Config config) {
        communicator = Communicator.create(machine(replicas), config);
    }

    private static Machine machine(int replicas) {
        List<Device> devices =
                IntStream.range(0, replicas).mapToObj(i -> Device.named("replica" + i)).toList();
        List<Link> links = new ArrayList<>();
        for (int a = 0; a < replicas; a++) {
            for (int b = a + 1; b < replicas; b++) {
                links.add(Link.duplex(a, b, Link.Kind.PCIE, 1, GBS, LATENCY_US));
            }
        }
        return new Machine("replicas", devices, List.of(), links, List.of(), List.of());
    }

    int size() {
        return communicator.size();
    }

    /** Makes the first replica's gradient the sum of all. */
    void sum(Slot slot) {
        communicator.reduce(
                slot.memory().stream().map(HostArray::memory).toList(), slot.count(), slot.type(), ReduceOp.SUM, 0);
        slot.memory().getFirst().writeBack();
    }

    /** Makes a parameter of all replicas what the first's is, and clears the others' gradients. */
    void spread(Slot slot) {
        List<HostArray> parameters = IntStream.range(0, slot.replicas())
                .mapToObj(i -> HostArray.of(slot.parameter(i)))
                .toList();
        communicator.broadcast(
                parameters.stream().map(HostArray::memory).toList(),
                slot.count(),
                HostArray.type(slot.parameter(0)),
                0);
        for (int i = 1; i < slot.replicas(); i++) {
            parameters.get(i).writeBack();
            slot.memory().get(i).memory().fill((byte) 0);
            slot.memory().get(i).writeBack();
        }
    }

    @Override
    public void close() {
        communicator.close();
    }
}
