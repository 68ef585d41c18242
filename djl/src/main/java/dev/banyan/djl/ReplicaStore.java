package dev.banyan.djl;

import ai.djl.ndarray.NDArray;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.Config;
import dev.banyan.reduce.kvstore.KVStore;
import dev.banyan.reduce.type.DataType;
import dev.banyan.topology.Device;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/**
 * Sums up and spreads arrays of the replicas in this process, which all lie in the host's memory. Not safe for use from
 * several threads.
 */
final class ReplicaStore implements AutoCloseable {
    /** In the host's memory all links are the same one. */
    private static final double GBS = 16;

    private static final double LATENCY_US = 1;

    private final Communicator communicator;
    private final KVStore store;
    private final Map<String, Integer> keys = new HashMap<>();

    /** @param replicas at least 2 */
    ReplicaStore(int replicas, Config config) {
        communicator = Communicator.create(machine(replicas), config);
        store = KVStore.create("device", communicator);
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

    int replicas() {
        return communicator.size();
    }

    /**
     * Gives all replicas the sum of a slot's gradients.
     *
     * @param priority greater ones go first
     */
    CompletableFuture<Void> sum(Slot slot, int priority) {
        List<MemorySegment> gradients = slot.memory().stream().map(HostArray::memory).toList();
        Integer key = keys.get(slot.id());
        if (key == null) {
            key = keys.size();
            keys.put(slot.id(), key);
            store.init(key, gradients.getFirst(), slot.count(), slot.type());
        }
        return store.pushPull(key, gradients, gradients, priority);
    }

    /** Makes all replicas of a parameter what the first is. */
    CompletableFuture<Void> spread(Slot slot) {
        List<HostArray> arrays =
                IntStream.range(0, slot.replicas()).mapToObj(i -> HostArray.of(slot.parameter(i))).toList();
        NDArray first = slot.parameter(0);
        DataType type = HostArray.type(first);
        return communicator
                .broadcastAsync(arrays.stream().map(HostArray::memory).toList(), first.size(), type, 0)
                .thenRun(() -> arrays.subList(1, arrays.size()).forEach(HostArray::writeBack));
    }

    @Override
    public void close() {
        store.close();
        communicator.close();
    }
}
