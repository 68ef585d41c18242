package dev.banyan.kvstore;

import dev.banyan.kvstore.StoreListener.Stage;
import dev.banyan.kvstore.internal.engine.DependencyEngine;
import dev.banyan.kvstore.internal.engine.Lane;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.host.HostOptimizer;
import dev.banyan.reduce.optimizer.Optimizer;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The stages of a store's operations, collectives and updates, which it pushes to the engine one after another. An
 * optimizer's update on devices with memory of their own is one entry of the engine with the collectives around it, so
 * that the host waits for nothing in between. A check
 * also allocates the memory that the operation needs, so that a lack of memory fails the operation before it begins.
 * Not safe for use from several threads at once.
 */
final class Stages {
    private final Communicator communicator;
    private final DependencyEngine engine;
    private final Sender sender;
    private final @Nullable StoreLink link;
    private final @Nullable Updater updater;
    private @Nullable Optimizer optimizer;

    /**
     * @param link the link to the stores of other processes, or null; with a link nothing is fused, so that no bits
     *     depend on timing
     * @param fusionBytes the greatest length of keys that share a collective
     * @param optimizer changes values by pushed sums, or null
     * @param updater does so where there is no optimizer, or null
     */
    Stages(
            Communicator communicator,
            DependencyEngine engine,
            @Nullable StoreLink link,
            long fusionBytes,
            @Nullable Optimizer optimizer,
            @Nullable Updater updater) {
        this.optimizer = optimizer;
        this.updater = updater;
        this.communicator = communicator;
        this.engine = engine;
        this.link = link;
        sender = new Sender(communicator, engine, link == null ? fusionBytes : 0);
    }

    /** @throws IllegalArgumentException if keys have no state for the new optimizer */
    void replaceOptimizer(Optimizer newOptimizer) {
        Optimizer present = optimizer;
        if (present == null
                || present.getClass() != newOptimizer.getClass()
                || present.moments() != newOptimizer.moments()) {
            throw new IllegalArgumentException("the store has "
                    + (present == null
                            ? "no optimizer"
                            : present.getClass().getSimpleName() + " with " + present.moments() + " moments")
                    + "; replace it by one of the same class and number of moments, or open a store with another");
        }
        optimizer = newOptimizer;
    }

    /** Begins no collective until {@link #release}, so that those that are pushed together go together. */
    void hold() {
        sender.hold();
    }

    /** Ends a {@link #hold} behind what was pushed to the engine. */
    void release() {
        try {
            engine.pushDeferred(
                    released -> {
                        sender.release();
                        released.done();
                    },
                    List.of(),
                    List.of());
        } catch (RuntimeException e) { // The engine is closed.
            sender.release();
            throw e;
        }
    }

    /** @throws IllegalArgumentException if the key or an array does not fit */
    void checkPush(Entry entry, List<MemorySegment> arrays) {
        checkElements(entry);
        communicator.check(reduce(entry, arrays, target(entry)));
    }

    void push(Progress progress, Entry entry, List<MemorySegment> arrays) {
        MemorySegment target = target(entry);
        if (waitsForPull()) {
            linkAndUpdate(progress, entry);
            pushReduce(progress, entry, arrays, target, true);
            entry.unlinked = true;
        } else if (updatesOnDevices() && link == null) {
            pushTransfer(progress, true, entry, List.of(sum(entry, arrays, target), updating(target)));
        } else {
            pushReduce(progress, entry, arrays, target, link == null && !updates());
            pushLink(progress, entry, target, !updates());
            pushUpdate(progress, entry, target, true);
        }
    }

    /** Returns the memory in which pushes are summed. */
    private MemorySegment target(Entry entry) {
        return updates() ? pushed(entry) : entry.value;
    }

    /** Returns whether pushed sums change values instead of becoming them. */
    private boolean updates() {
        return updater != null || optimizer != null;
    }

    /** Returns whether values are updated where they live, in memory that the host cannot access. */
    private boolean updatesOnDevices() {
        return optimizer != null && !communicator.inHostMemory();
    }

    private boolean waitsForPull() {
        return link != null && link.waitsForPull();
    }

    /** Runs the stages of a push that wait for the next pull. */
    private void linkAndUpdate(Progress progress, Entry entry) {
        if (entry.unlinked) {
            pushLink(progress, entry, target(entry), false);
            pushUpdate(progress, entry, target(entry), false);
            entry.unlinked = false;
        }
    }

    /** @throws IllegalArgumentException if an array does not fit */
    void checkPull(Entry entry, List<MemorySegment> arrays) {
        communicator.check(broadcast(entry, entry.value, arrays));
    }

    void pull(Progress progress, Entry entry, List<MemorySegment> arrays) {
        linkAndUpdate(progress, entry);
        pushBroadcast(progress, entry, broadcast(entry, entry.value, arrays));
    }

    /** @throws IllegalArgumentException if the key or an array does not fit */
    void checkPushPull(Entry entry, List<MemorySegment> arrays, List<MemorySegment> results) {
        checkElements(entry);
        communicator.check(allReduce(entry, arrays, results));
        if (!isOneCollective()) {
            pushed(entry);
        }
    }

    void pushPull(Progress progress, Entry entry, List<MemorySegment> arrays, List<MemorySegment> results) {
        if (isOneCollective()) {
            pushTransfer(
                    progress,
                    true,
                    entry,
                    List.of(new Transfer.Sending(Stage.ALL_REDUCE, allReduce(entry, arrays, results))));
        } else if (updatesOnDevices() && link == null) {
            MemorySegment target = pushed(entry);
            pushTransfer(
                    progress,
                    true,
                    entry,
                    List.of(
                            sum(entry, arrays, target),
                            updating(target),
                            new Transfer.Sending(Stage.BROADCAST, broadcast(entry, entry.value, results))));
        } else {
            linkAndUpdate(progress, entry);
            MemorySegment target = !updates() && link != null ? results.get(entry.info.server()) : pushed(entry);
            pushReduce(progress, entry, arrays, target, false);
            pushLink(progress, entry, target, false);
            pushUpdate(progress, entry, target, false);
            pushBroadcast(progress, entry, broadcast(entry, updates() ? entry.value : target, results));
        }
    }

    /** Returns whether a push-pull is an allreduce. */
    private boolean isOneCollective() {
        return !updates() && link == null;
    }

    private void checkElements(Entry entry) {
        if (updater != null && entry.pushed == null) {
            updater.check(entry.info);
        }
        if (optimizer != null && entry.state == null) {
            KeyInfo info = entry.info;
            if (!info.type().isFloating()) {
                throw new IllegalArgumentException("the key has elements of " + info.type()
                        + ", but optimizers update F32, F64, F16 and BF16 only");
            }
            entry.state = communicator.allocate(info.server(), optimizer.stateBytes(info.type(), info.count()));
        }
    }

    private void pushReduce(
            Progress progress, Entry entry, List<MemorySegment> arrays, MemorySegment target, boolean last) {
        pushTransfer(progress, last, entry, List.of(sum(entry, arrays, target)));
    }

    private static Transfer.Part sum(Entry entry, List<MemorySegment> arrays, MemorySegment target) {
        return new Transfer.Sending(Stage.REDUCE, reduce(entry, arrays, target));
    }

    private Transfer.Part updating(MemorySegment gradient) {
        return new Transfer.Updating(Objects.requireNonNull(optimizer), gradient);
    }

    private void pushLink(Progress progress, Entry entry, MemorySegment array, boolean last) {
        if (link != null) {
            link.push(new LinkedSum(progress, entry, array, last));
        }
    }

    private void pushUpdate(Progress progress, Entry entry, MemorySegment target, boolean last) {
        Updater working = updater;
        Optimizer optimizing = optimizer;
        if (working != null) {
            pushWork(progress, last, entry, () -> update(working, entry, target));
        } else if (updatesOnDevices()) {
            pushTransfer(progress, last, entry, List.of(updating(target)));
        } else if (optimizing != null) {
            pushWork(progress, last, entry, () -> {
                HostOptimizer.run(entry.update(optimizing, target));
                entry.updates++;
            });
        }
    }

    private void update(Updater working, Entry entry, MemorySegment target) {
        if (communicator.inHostMemory()) {
            working.update(entry.info, target, entry.value);
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment sum = arena.allocate(entry.info.bytes(), Long.BYTES);
            MemorySegment value = arena.allocate(entry.info.bytes(), Long.BYTES);
            communicator.copyToHost(target, sum);
            communicator.copyToHost(entry.value, value);
            working.update(entry.info, sum, value);
            communicator.copyToDevice(entry.value, value);
        }
    }

    private void pushWork(Progress progress, boolean last, Entry entry, Runnable body) {
        engine.push(
                Lane.COMPUTE,
                new Work(progress, Stage.UPDATE, last, body),
                List.of(),
                List.of(entry.variable),
                progress.operation().priority());
    }

    private void pushTransfer(Progress progress, boolean last, Entry entry, List<Transfer.Part> parts) {
        // All pushes come before the pulls that send their sums.
        int priority = waitsForPull() ? Integer.MAX_VALUE : progress.operation().priority();
        engine.pushDeferred(
                new Transfer(sender, progress, last, priority, entry, parts), List.of(), List.of(entry.variable));
    }

    private void pushBroadcast(Progress progress, Entry entry, CollectiveCall broadcast) {
        engine.pushDeferred(
                new Transfer(
                        sender,
                        progress,
                        true,
                        progress.operation().priority(),
                        entry,
                        List.of(new Transfer.Sending(Stage.BROADCAST, broadcast))),
                List.of(entry.variable),
                List.of());
    }

    private MemorySegment pushed(Entry entry) {
        MemorySegment pushed = entry.pushed;
        if (pushed == null) {
            pushed = communicator.allocate(entry.info.server(), entry.info.bytes());
            entry.pushed = pushed;
        }
        return pushed;
    }

    private static CollectiveCall reduce(Entry entry, List<MemorySegment> arrays, MemorySegment target) {
        KeyInfo info = entry.info;
        if (target.equals(arrays.get(info.server()))) {
            return CollectiveCall.reduce(arrays, info.count(), info.type(), ReduceOp.SUM)
                    .root(info.server());
        }
        return CollectiveCall.reduce(arrays, info.count(), info.type(), ReduceOp.SUM)
                .root(info.server())
                .into(List.of(target));
    }

    private static CollectiveCall broadcast(Entry entry, MemorySegment source, List<MemorySegment> arrays) {
        KeyInfo info = entry.info;
        if (source.equals(arrays.get(info.server()))) {
            return CollectiveCall.broadcast(arrays, info.count(), info.type()).root(info.server());
        }
        return CollectiveCall.broadcast(List.of(source), info.count(), info.type())
                .root(info.server())
                .into(arrays);
    }

    private static CollectiveCall allReduce(Entry entry, List<MemorySegment> arrays, List<MemorySegment> results) {
        KeyInfo info = entry.info;
        return arrays.equals(results)
                ? CollectiveCall.allReduce(arrays, info.count(), info.type(), ReduceOp.SUM)
                : CollectiveCall.allReduce(arrays, info.count(), info.type(), ReduceOp.SUM)
                        .into(results);
    }
}
