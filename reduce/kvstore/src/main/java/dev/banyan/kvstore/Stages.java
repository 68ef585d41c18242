package dev.banyan.kvstore;

import dev.banyan.kvstore.StoreListener.Stage;
import dev.banyan.kvstore.engine.DependencyEngine;
import dev.banyan.kvstore.engine.Lane;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The stages of a store's operations, collectives and updates, which it pushes to the engine one after another. A check
 * also allocates the memory that the operation needs, so that a lack of memory fails the operation before it begins.
 * Not safe for use from several threads at once.
 */
final class Stages {
    private final Communicator communicator;
    private final DependencyEngine engine;
    private final Sender sender;
    private final @Nullable StoreLink link;
    private @Nullable Updater updater;

    /**
     * @param link the link to the stores of other processes, or null; with a link nothing is fused, so that no bits
     *     depend on timing
     */
    Stages(Communicator communicator, DependencyEngine engine, @Nullable StoreLink link) {
        this.communicator = communicator;
        this.engine = engine;
        this.link = link;
        sender = new Sender(
                communicator, engine, link == null ? communicator.config().get(KVStore.FUSION_BYTES) : 0);
    }

    void setUpdater(Updater newUpdater) {
        updater = Objects.requireNonNull(newUpdater, "newUpdater");
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
        } else {
            pushReduce(progress, entry, arrays, target, link == null && updater == null);
            pushLink(progress, entry, target, updater == null);
            pushUpdate(progress, entry, target, true);
        }
    }

    /** Returns the memory in which pushes are summed. */
    private MemorySegment target(Entry entry) {
        return updater == null ? entry.value : pushed(entry);
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
            pushTransfer(progress, Stage.ALL_REDUCE, true, entry, allReduce(entry, arrays, results));
        } else {
            linkAndUpdate(progress, entry);
            MemorySegment target = updater == null && link != null ? results.get(entry.info.server()) : pushed(entry);
            pushReduce(progress, entry, arrays, target, false);
            pushLink(progress, entry, target, false);
            pushUpdate(progress, entry, target, false);
            pushBroadcast(progress, entry, broadcast(entry, updater == null ? target : entry.value, results));
        }
    }

    /** Returns whether a push-pull is an allreduce. */
    private boolean isOneCollective() {
        return updater == null && link == null;
    }

    private void checkElements(Entry entry) {
        if (updater != null && entry.pushed == null) {
            updater.check(entry.info);
        }
    }

    private void pushReduce(
            Progress progress, Entry entry, List<MemorySegment> arrays, MemorySegment target, boolean last) {
        pushTransfer(progress, Stage.REDUCE, last, entry, reduce(entry, arrays, target));
    }

    private void pushLink(Progress progress, Entry entry, MemorySegment array, boolean last) {
        if (link != null) {
            link.push(new LinkedSum(progress, entry, array, last));
        }
    }

    private void pushUpdate(Progress progress, Entry entry, MemorySegment target, boolean last) {
        Updater working = updater;
        if (working != null) {
            pushWork(progress, Stage.UPDATE, last, entry, () -> update(working, entry, target));
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

    private void pushWork(Progress progress, @Nullable Stage stage, boolean last, Entry entry, Runnable body) {
        engine.push(
                Lane.COMPUTE,
                new Work(progress, stage, last, body),
                List.of(),
                List.of(entry.variable),
                progress.operation().priority());
    }

    private void pushTransfer(Progress progress, Stage stage, boolean last, Entry entry, CollectiveCall call) {
        // All pushes come before the pulls that send their sums.
        int priority = waitsForPull() ? Integer.MAX_VALUE : progress.operation().priority();
        engine.pushDeferred(
                new Transfer(sender, progress, stage, last, priority, call, entry.way),
                List.of(),
                List.of(entry.variable));
    }

    private void pushBroadcast(Progress progress, Entry entry, CollectiveCall broadcast) {
        engine.pushDeferred(
                new Transfer(
                        sender,
                        progress,
                        Stage.BROADCAST,
                        true,
                        progress.operation().priority(),
                        broadcast,
                        entry.way),
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
            return CollectiveCall.reduce(arrays, info.count(), info.type(), ReduceOp.SUM, info.server());
        }
        return CollectiveCall.reduce(arrays, target, info.count(), info.type(), ReduceOp.SUM, info.server());
    }

    private static CollectiveCall broadcast(Entry entry, MemorySegment source, List<MemorySegment> arrays) {
        KeyInfo info = entry.info;
        if (source.equals(arrays.get(info.server()))) {
            return CollectiveCall.broadcast(arrays, info.count(), info.type(), info.server());
        }
        return CollectiveCall.broadcast(source, arrays, info.count(), info.type(), info.server());
    }

    private static CollectiveCall allReduce(Entry entry, List<MemorySegment> arrays, List<MemorySegment> results) {
        KeyInfo info = entry.info;
        return arrays.equals(results)
                ? CollectiveCall.allReduce(arrays, info.count(), info.type(), ReduceOp.SUM)
                : CollectiveCall.allReduce(arrays, results, info.count(), info.type(), ReduceOp.SUM);
    }
}
