package dev.banyan.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.training.ParameterServer;
import ai.djl.training.optimizer.Optimizer;
import dev.banyan.reduce.Config;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The parameter server of a trainer whose replicas are in one process, in several processes, or both. Gradients of
 * the replicas of one process are summed up, as DJL's own server does; sums of several processes are averaged, so that
 * training goes as with one process and the same global batch. Each optimiser runs once a step and parameter, and the
 * other replicas get its result: its state and counts are those of sequential training.
 *
 * <p><b>Steps.</b> A trainer updates its parameters one after another, in an order that differs between processes. So
 * {@link #update(String, NDArray[])} only collects, until the last of those that were initialised and have a
 * gradient has come; then all gradients go, those of small parameters together, in the order of initialisation. That
 * order must be the same in all processes. {@link #update(String, NDArray[], NDArray[])} carries out its update at once.
 *
 * <p>Parameters and gradients are used where they lie if they are on the CPU and dense, else copied. Not safe for use from
 * several threads.
 */
public final class BanyanParameterServer implements ParameterServer {
    private final Optimizer optimizer;
    private final Processes processes;
    private final Config config;
    private final Buckets buckets;
    /** By id, in the order of initialisation. */
    private final Map<String, NDArray> known = new LinkedHashMap<>();
    /** What came of a step that is not complete. */
    private final Map<String, Slot> collected = new LinkedHashMap<>();

    private int expected;
    private @Nullable ReplicaStore store;

    /** A server for replicas in this process alone. */
    public BanyanParameterServer(Optimizer optimizer) {
        this(optimizer, Processes.ALONE, Config.load());
    }

    BanyanParameterServer(Optimizer optimizer, Processes processes, Config config) {
        this.optimizer = optimizer;
        this.processes = processes;
        this.config = config;
        buckets = new Buckets(processes, config.fusionBytes());
    }

    /** Makes the parameter of all processes what that of the first is. */
    @Override
    public void init(String parameterId, NDArray[] value) {
        known.put(parameterId, value[0]);
        if (processes.size() > 1) {
            HostArray array = HostArray.of(value[0]);
            processes.broadcast(array.memory(), value[0].size(), HostArray.type(value[0]));
            array.writeBack();
        }
    }

    @Override
    public void update(String parameterId, NDArray[] params) {
        if (collected.isEmpty()) {
            expected = (int) known.values().stream().filter(NDArray::hasGradient).count();
        }
        Slot slot = new Slot(
                parameterId, Arrays.stream(params).map(NDArray::getGradient).toArray(NDArray[]::new), params);
        if (!known.containsKey(parameterId) || collected.putIfAbsent(parameterId, slot) != null) {
            throw new IllegalStateException("parameter " + params[0].getName() + " is updated "
                    + (known.containsKey(parameterId)
                            ? "twice before " + (expected - collected.size()) + " others were"
                            : "but was never initialised")
                    + "; update all parameters of a trainer once a step, as Trainer.step does");
        }
        if (collected.size() >= expected) {
            List<Slot> row = inOrder();
            collected.clear();
            step(row);
            row.forEach(Slot::closeGradients);
        }
    }

    @Override
    public void update(String parameterId, NDArray[] grads, NDArray[] params) {
        step(List.of(new Slot(parameterId, grads, params)));
    }

    private List<Slot> inOrder() {
        List<Slot> row = new ArrayList<>(collected.size());
        for (String id : known.keySet()) {
            Slot slot = collected.get(id);
            if (slot != null) {
                row.add(slot);
            }
        }
        return row;
    }

    private void step(List<Slot> row) {
        int replicas = row.getFirst().replicas();
        ReplicaStore replicaStore = replicas == 1 ? null : store(replicas);
        Map<Slot, CompletableFuture<Void>> sums = sum(replicaStore, row);
        List<CompletableFuture<Void>> spreads = new ArrayList<>();
        if (processes.size() == 1) {
            for (Slot slot : row) {
                await(sums, slot);
                spreads.add(work(replicaStore, slot));
            }
        } else {
            List<Buckets.Bucket> packed = buckets.pack(row);
            for (int i = 0; i < packed.size(); i++) {
                packed.get(i).slots().forEach(slot -> await(sums, slot));
                packed.get(i).send(i);
            }
            for (Buckets.Bucket bucket : packed) {
                bucket.receive();
                bucket.slots().forEach(slot -> spreads.add(work(replicaStore, slot)));
            }
        }
        spreads.forEach(Futures::join);
    }

    private static Map<Slot, CompletableFuture<Void>> sum(@Nullable ReplicaStore replicaStore, List<Slot> row) {
        Map<Slot, CompletableFuture<Void>> sums = new LinkedHashMap<>();
        if (replicaStore != null) {
            for (int i = 0; i < row.size(); i++) {
                sums.put(row.get(i), replicaStore.sum(row.get(i), -i));
            }
        }
        return sums;
    }

    private static void await(Map<Slot, CompletableFuture<Void>> sums, Slot slot) {
        CompletableFuture<Void> sum = sums.get(slot);
        if (sum != null) {
            Futures.join(sum);
            slot.memory().getFirst().writeBack();
        }
    }

    /** Changes the parameter of the first replica, begins to give it to the others, and clears all gradients. */
    private CompletableFuture<Void> work(@Nullable ReplicaStore replicaStore, Slot slot) {
        optimizer.update(slot.id(), slot.parameter(0), slot.gradient(0));
        if (replicaStore == null) {
            return CompletableFuture.completedFuture(null);
        }
        CompletableFuture<Void> spread = replicaStore.spread(slot);
        for (int i = 1; i < slot.replicas(); i++) {
            slot.memory().get(i).memory().fill((byte) 0);
            slot.memory().get(i).writeBack();
        }
        return spread;
    }

    private ReplicaStore store(int replicas) {
        ReplicaStore found = store;
        if (found == null) {
            found = new ReplicaStore(replicas, config);
            store = found;
        } else if (found.replicas() != replicas) {
            throw new IllegalArgumentException("update of " + replicas + " replicas, but " + found.replicas()
                    + " before; use a server for each trainer");
        }
        return found;
    }

    @Override
    public void close() {
        if (store != null) {
            store.close();
        }
    }
}
