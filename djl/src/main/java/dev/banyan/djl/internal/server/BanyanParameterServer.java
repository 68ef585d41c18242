package dev.banyan.djl.internal.server;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.training.ParameterServer;
import ai.djl.training.optimizer.Optimizer;
import dev.banyan.config.Config;
import dev.banyan.djl.internal.processes.JoinedGpus;
import dev.banyan.djl.internal.processes.PhaseEvent;
import dev.banyan.djl.internal.processes.Processes;
import dev.banyan.djl.internal.torch.HostArray;
import dev.banyan.djl.internal.torch.Slot;
import dev.banyan.kvstore.KVStore;
import dev.banyan.schedule.plan.Algorithms;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.SequencedMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The parameter server of a trainer whose replicas are in one process, in several processes, or both. It sums the
 * gradients of the replicas of one process, as DJL's own server does, and averages the sums of several processes, so
 * that training equals that of one process with the same global batch. The optimiser runs once per step and parameter,
 * and the other replicas receive its result; so its state and counts are those of sequential training.
 *
 * <p><b>Steps.</b> A trainer updates its parameters one after another, in an order that differs between processes. So
 * {@link #update(String, NDArray[])} only collects slots until every initialised parameter that has a gradient has
 * come. DJL reports no gradient before that: all are ready at the first update, which follows the backward passes.
 * Then all gradients are exchanged in buckets, the last parameters first, as a backward pass makes them. The order of
 * initialisation, which decides what is last, must be the same in all processes. {@link #update(String, NDArray[],
 * NDArray[])} runs its update at once.
 *
 * <p><b>Reproducible sums.</b> With BANYAN_REPRODUCIBLE=1 each gradient of each replica is a contribution of its own to
 * one sum over all processes, in host memory, so that its bits do not depend on where the replicas are.
 *
 * <p>With several processes, dense parameters and gradients on the CPU are used in place; others are copied. Gradients
 * of several processes that have a GPU each are averaged there in place if these GPUs can be joined: the optimiser's
 * work follows in PyTorch's stream, and a step returns when its averages have ended. Not safe for use from several
 * threads.
 */
public final class BanyanParameterServer implements ParameterServer {
    /**
     * The slots of failed steps. A call in flight may still write to their gradients, so PyTorch must never free
     * them.
     */
    private static final Queue<Slot> FAILED = new ConcurrentLinkedQueue<>();

    private final Optimizer optimizer;
    private final Processes processes;
    private final Function<List<Device>, Replicas> start;
    private final Buckets buckets;
    private final boolean reproducible;
    /** True if gradients of a process's replicas are averaged, too, where sums are reproducible. */
    private final boolean averagesReplicas;
    /** The parameters by id, in the order of initialisation. */
    private final SequencedMap<String, NDArray> known = new LinkedHashMap<>();
    /** The slots of the current step, which is not complete. */
    private final Map<String, Slot> collected = new LinkedHashMap<>();

    private int expected;
    /** The number of replicas of all processes; 0 before a step has asked for it. */
    private int contributions;

    private @Nullable Replicas replicas;
    /** True if a step has asked for {@link #joined}. */
    private boolean hasAskedToJoin;

    private @Nullable JoinedGpus joined;

    /** Creates a server of DJL's trainers in several processes. */
    public BanyanParameterServer(Optimizer optimizer, Processes processes, Config config) {
        this(
                optimizer,
                processes,
                config.get(KVStore.FUSION_BYTES),
                devices -> Replicas.start(devices, config),
                config.get(Algorithms.REPRODUCIBLE),
                false);
    }

    /**
     * Creates a server that sums gradients reproducibly only if the replicas do.
     *
     * @param bucketBytes the greatest length of a bucket of several gradients, in bytes
     * @param start opens the replicas on several devices
     */
    public BanyanParameterServer(
            Optimizer optimizer, Processes processes, long bucketBytes, Function<List<Device>, Replicas> start) {
        this(optimizer, processes, bucketBytes, start, false, false);
    }

    private BanyanParameterServer(
            Optimizer optimizer,
            Processes processes,
            long bucketBytes,
            Function<List<Device>, Replicas> start,
            boolean reproducible,
            boolean averagesReplicas) {
        this.optimizer = optimizer;
        this.processes = processes;
        this.start = start;
        this.reproducible = reproducible;
        this.averagesReplicas = averagesReplicas;
        buckets = new Buckets(processes, bucketBytes);
    }

    /**
     * Returns a server for replicas on the CPU. In one process each parameter is a bucket of its own: it is summed,
     * updated and cleared while it is in the caches. Where sums are reproducible, gradients are averaged over all
     * replicas; otherwise the replicas of a process must have divided theirs by their number.
     */
    public static BanyanParameterServer ofReplicas(Optimizer optimizer, Processes processes, Config config) {
        return new BanyanParameterServer(
                optimizer,
                processes,
                processes.size() == 1 ? 0 : config.get(KVStore.FUSION_BYTES),
                devices -> new TorchReplicas(devices.size()),
                config.get(Algorithms.REPRODUCIBLE),
                true);
    }

    /** Copies the parameter of the first process to all processes. */
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
            List<Slot> row = lastFirst();
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
        step(List.of(new Slot(parameterId, List.of(grads), List.of(params))));
    }

    private List<Slot> lastFirst() {
        return known.sequencedKeySet().reversed().stream()
                .flatMap(id -> Stream.ofNullable(collected.get(id)))
                .toList();
    }

    private void step(List<Slot> row) {
        Replicas group = group(row.getFirst());
        List<Buckets.Bucket> packed = buckets.pack(row);
        if (reproducible) {
            int divisor = averagesReplicas ? contributions(row) : processes.size();
            for (int i = 0; i < packed.size(); i++) {
                packed.get(i).sendEach(i, contributions(row), divisor);
            }
            receive(group, packed);
            return;
        }
        if (processes.size() == 1) {
            for (Buckets.Bucket bucket : packed) {
                sum(group, bucket.slots());
                optimize(group, bucket.slots());
            }
            return;
        }
        JoinedGpus gpus = joined(row);
        if (gpus != null) {
            for (Buckets.Bucket bucket : packed) {
                bucket.send(gpus);
                optimize(group, bucket.slots());
            }
            packed.forEach(Buckets.Bucket::receive);
            return;
        }
        for (int i = 0; i < packed.size(); i++) {
            sum(group, packed.get(i).slots());
            packed.get(i).send(i);
        }
        receive(group, packed);
    }

    private void receive(@Nullable Replicas group, List<Buckets.Bucket> packed) {
        for (Buckets.Bucket bucket : packed) {
            bucket.receive();
            optimize(group, bucket.slots());
        }
    }

    /** Returns the number of replicas of all processes. The first step adds them up. */
    private int contributions(List<Slot> row) {
        if (contributions == 0) {
            contributions = processes.sum(row.getFirst().parameters().size());
        }
        return contributions;
    }

    /** Returns the GPUs of all processes, or null in all processes. The first step decides. */
    private @Nullable JoinedGpus joined(List<Slot> row) {
        if (!hasAskedToJoin) {
            hasAskedToJoin = true;
            joined = processes.joinGpus(
                    row.getFirst().parameters().stream().map(NDArray::getDevice).toList(),
                    row.stream().map(slot -> slot.gradients().getFirst()).toList());
        }
        return joined;
    }

    private static void sum(@Nullable Replicas group, List<Slot> slots) {
        if (group != null) {
            group.sum(slots);
        }
    }

    /** Updates parameters by their gradients, which the optimiser clears. */
    private void optimize(@Nullable Replicas group, List<Slot> slots) {
        PhaseEvent event = PhaseEvent.begin("optimizer");
        slots.forEach(slot -> optimizer.update(
                slot.id(), slot.parameters().getFirst(), slot.gradients().getFirst()));
        event.done();
        if (group != null) {
            group.spread(slots);
            slots.forEach(Replicas::clearOthers);
        }
    }

    /** Returns the replicas of this process, or null if there is only one. */
    private @Nullable Replicas group(Slot slot) {
        int size = slot.parameters().size();
        Replicas group = replicas;
        if (group != null && group.size() != size) {
            throw new IllegalArgumentException(
                    "update of " + size + " replicas, but " + group.size() + " before; use a server for each trainer");
        }
        if (group == null && size > 1) {
            group = start.apply(
                    slot.parameters().stream().map(NDArray::getDevice).toList());
            replicas = group;
            holder(slot).attachUncappedInternal(NDManager.nextUid(), this);
        }
        return group;
    }

    /**
     * Returns the manager whose end closes this server, as DJL closes no parameter server: the manager of the trainer,
     * which holds the copies on other devices.
     */
    private NDManager holder(Slot slot) {
        NDManager first =
                known.getOrDefault(slot.id(), slot.parameters().getFirst()).getManager();
        return slot.parameters().stream()
                .map(NDArray::getManager)
                .filter(manager -> !manager.equals(first))
                .findFirst()
                .orElse(first);
    }

    /** Frees the resources of the replicas. The end of the trainer calls it, too; a second call does nothing. */
    @Override
    public void close() {
        if (replicas != null) {
            replicas.close();
        }
    }
}
