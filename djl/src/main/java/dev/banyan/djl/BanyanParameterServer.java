package dev.banyan.djl;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.training.ParameterServer;
import ai.djl.training.optimizer.Optimizer;
import dev.banyan.config.Config;
import dev.banyan.kvstore.KVStore;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Function;
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
 * order must be the same in all processes. {@link #update(String, NDArray[], NDArray[])} carries out its update at
 * once.
 *
 * <p>Parameters and gradients are used where they lie if they are on the CPU and dense, else copied. Not safe for use
 * from several threads.
 */
public final class BanyanParameterServer implements ParameterServer {
    /**
     * Steps that failed: what had begun may still write into their gradients, so PyTorch must not free them any
     * more.
     */
    private static final Queue<Slot> FAILED = new ConcurrentLinkedQueue<>();

    private final Optimizer optimizer;
    private final Processes processes;
    private final Function<List<Device>, Replicas> start;
    private final Buckets buckets;
    /** By id, in the order of initialisation. */
    private final Map<String, NDArray> known = new LinkedHashMap<>();
    /** What came of a step that is not complete. */
    private final Map<String, Slot> collected = new LinkedHashMap<>();

    private int expected;
    private @Nullable Replicas replicas;

    /** A server for replicas in this process alone. */
    public BanyanParameterServer(Optimizer optimizer) {
        this(optimizer, Processes.ALONE, Config.load());
    }

    BanyanParameterServer(Optimizer optimizer, Processes processes, Config config) {
        this(optimizer, processes, config.get(KVStore.FUSION_BYTES), devices -> Replicas.start(devices, config));
    }

    /**
     * @param fusionBytes bytes of gradients that go over the processes together
     * @param start opens the replicas on several devices
     */
    BanyanParameterServer(
            Optimizer optimizer, Processes processes, long fusionBytes, Function<List<Device>, Replicas> start) {
        this.optimizer = optimizer;
        this.processes = processes;
        this.start = start;
        buckets = new Buckets(processes, fusionBytes);
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
            expected =
                    (int) known.values().stream().filter(NDArray::hasGradient).count();
        }
        Slot slot = Slot.of(parameterId, params);
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
            try {
                step(row);
            } catch (RuntimeException e) {
                row.forEach(Slot::detachGradients);
                FAILED.addAll(row);
                throw e;
            }
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
        Replicas group = group(row.getFirst());
        if (processes.size() == 1) {
            for (Slot slot : row) {
                sum(group, slot);
                work(group, slot);
            }
            return;
        }
        List<Buckets.Bucket> packed = buckets.pack(row);
        for (int i = 0; i < packed.size(); i++) {
            packed.get(i).slots().forEach(slot -> sum(group, slot));
            packed.get(i).send(i);
        }
        for (Buckets.Bucket bucket : packed) {
            bucket.receive();
            bucket.slots().forEach(slot -> work(group, slot));
        }
    }

    private static void sum(@Nullable Replicas group, Slot slot) {
        if (group != null) {
            group.sum(slot);
        }
    }

    /** Changes a parameter by its gradient, which the optimiser clears. */
    private void work(@Nullable Replicas group, Slot slot) {
        PhaseEvent event = PhaseEvent.begin("optimizer");
        optimizer.update(slot.id(), slot.parameter(0), slot.gradient(0));
        event.done();
        if (group != null) {
            group.spread(slot);
            Replicas.clearOthers(slot);
        }
    }

    /** Null for a replica that has no others. */
    private @Nullable Replicas group(Slot slot) {
        int size = slot.replicas();
        Replicas group = replicas;
        if (group != null && group.size() != size) {
            throw new IllegalArgumentException(
                    "update of " + size + " replicas, but " + group.size() + " before; use a server for each trainer");
        }
        if (group == null && size > 1) {
            group = start.apply(
                    Arrays.stream(slot.parameters()).map(NDArray::getDevice).toList());
            replicas = group;
            holder(slot).attachUncappedInternal(NDManager.nextUid(), this);
        }
        return group;
    }

    /**
     * What ends with the trainer, as DJL closes no parameter server: its manager, which has the copies on other
     * devices.
     */
    private NDManager holder(Slot slot) {
        NDManager first = known.getOrDefault(slot.id(), slot.parameter(0)).getManager();
        return Arrays.stream(slot.parameters())
                .map(NDArray::getManager)
                .filter(manager -> !manager.equals(first))
                .findFirst()
                .orElse(first);
    }

    /** Gives back what the replicas need; happens by itself when the trainer is closed. Closing twice is no error. */
    @Override
    public void close() {
        if (replicas != null) {
            replicas.close();
        }
    }
}
