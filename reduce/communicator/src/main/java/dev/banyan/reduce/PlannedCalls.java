package dev.banyan.reduce;

import dev.banyan.config.Config;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.ExactSumRequest;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.host.ExactSum;
import dev.banyan.reduce.internal.CallQueue;
import dev.banyan.schedule.algorithm.CollectiveRequest;
import dev.banyan.schedule.plan.AlgorithmHint;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.Reproducible;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** Makes calls that a queue can start: each gets its plan, starts its executable, and is recorded as an event. */
final class PlannedCalls implements AutoCloseable {
    private static final int KEPT_PLANS = 512;

    private final Planner planner;
    private final Config config;
    private final Backend backend;
    private final int ranks;
    /** The ranks of this process. */
    private final RankRange held;
    /** Whether sums of floats are rounded once. */
    private final boolean exact;

    private final PlanCache plans = new PlanCache(KEPT_PLANS);
    /** Runs the call that was started last. */
    private volatile @Nullable Executable latest;

    PlannedCalls(Planner planner, Config config, Backend backend, int ranks, RankRange held) {
        this.planner = planner;
        this.config = config;
        this.backend = backend;
        this.ranks = ranks;
        this.held = held;
        exact = config.get(Algorithms.REPRODUCIBLE) == Reproducible.EXACT;
    }

    /** Returns a call, which has been checked. */
    CallQueue.Call call(CollectiveCall call, AlgorithmHint hint, @Nullable CallerStreams streams) {
        return new Run(call, hint, streams);
    }

    /** Returns calls that start one after another, which the backend may launch together, and end together. */
    CallQueue.Call batch(List<CallQueue.Call> calls) {
        return new Batch(backend, calls);
    }

    /** Returns batches and updates that start one after another and end together. */
    static CallQueue.Call sequence(List<CallQueue.Call> parts) {
        return new Sequence(parts);
    }

    /** Asks the run of the call that was started last to end. */
    void abort() {
        Executable running = latest;
        if (running != null) {
            running.abort();
        }
    }

    /** Frees the plans; no call runs any more. */
    @Override
    public void close() {
        plans.close();
    }

    /**
     * Starts calls one after another until one fails; returns a future of the end of all, or null if they have ended.
     */
    private static @Nullable CompletableFuture<Void> startAll(List<CallQueue.Call> calls) {
        List<CompletableFuture<Void>> started = new ArrayList<>();
        try {
            for (CallQueue.Call call : calls) {
                CompletableFuture<Void> running = call.start();
                if (running != null) {
                    started.add(running);
                    if (running.isCompletedExceptionally()) {
                        break;
                    }
                }
            }
        } catch (RuntimeException e) {
            // All have ended when nothing of them runs any more.
            started.add(CompletableFuture.failedFuture(e));
        }
        return started.isEmpty() ? null : CompletableFuture.allOf(started.toArray(CompletableFuture<?>[]::new));
    }

    private record Sequence(List<CallQueue.Call> parts) implements CallQueue.Call {
        @Override
        public void prepare() {
            parts.forEach(CallQueue.Call::prepare);
        }

        @Override
        public @Nullable CompletableFuture<Void> start() {
            return startAll(parts);
        }

        @Override
        public int runCount() {
            return parts.stream().mapToInt(CallQueue.Call::runCount).sum();
        }

        @Override
        public void poll(Future<?> ended) {
            parts.forEach(part -> part.poll(ended));
        }
    }

    private record Batch(Backend backend, List<CallQueue.Call> runs) implements CallQueue.Call {
        @Override
        public void prepare() {
            runs.forEach(CallQueue.Call::prepare);
        }

        @Override
        public @Nullable CompletableFuture<Void> start() {
            try (Backend.Group _ = backend.group()) {
                return startAll(runs);
            }
        }

        @Override
        public int runCount() {
            return Math.max(1, runs.size());
        }

        @Override
        public void poll(Future<?> ended) {
            if (!runs.isEmpty()) {
                runs.getLast().poll(ended);
            }
        }
    }

    /** One call. */
    private final class Run implements CallQueue.Call {
        private final CollectiveCall call;
        private final AlgorithmHint hint;
        private final @Nullable CallerStreams streams;
        private @Nullable Plan plan;

        Run(CollectiveCall call, AlgorithmHint hint, @Nullable CallerStreams streams) {
            this.call = call;
            this.hint = hint;
            this.streams = streams;
        }

        @Override
        public void prepare() {
            plan = plans.get(PlanKey.of(call, hint), PlannedCalls.this::plan);
        }

        @Override
        public @Nullable CompletableFuture<Void> start() {
            Plan ready = Objects.requireNonNull(plan);
            CollectiveEvent event = new CollectiveEvent();
            event.begin();
            latest = ready.executable();
            CompletableFuture<Void> running;
            try {
                running = ready.executable()
                        .start(perRank(call.inputs(), call.root()), perRank(call.outputs(), call.root()), streams);
            } catch (Throwable e) {
                end(event, ready, false);
                throw e;
            }
            if (running == null) {
                end(event, ready, true);
                return null;
            }
            return running.whenComplete((_, failure) -> end(event, ready, failure == null));
        }

        @Override
        public void poll(Future<?> ended) {
            Plan ready = plan;
            if (ready != null) {
                ready.executable().poll(ended);
            }
        }

        private void end(CollectiveEvent event, Plan ready, boolean succeeded) {
            event.end();
            if (event.shouldCommit()) {
                event.succeeded = succeeded;
                event.collective = call.collective().label();
                event.algorithm = ready.algorithm();
                event.bytes = call.count() * call.type().bytes();
                event.ranks = ranks;
                event.type = call.type().name();
                event.operation = call.op().name();
                event.inPlace = call.inPlace();
                event.commit();
            }
        }
    }

    private Plan plan(PlanKey key) {
        if (exact && ranks > 1 && key.collective().reduces() && ExactSum.covers(key.type(), key.op())) {
            ExactSumRequest sum = new ExactSumRequest(
                    key.collective(), key.root(), key.count(), key.type(), key.op() == ReduceOp.AVG, key.inPlace());
            return new Plan(Reproducible.EXACT.toString(), backend.prepare(sum));
        }
        CollectiveRequest request = new CollectiveRequest(
                key.collective(),
                key.root(),
                key.count(),
                key.type().bytes(),
                key.inPlace(),
                config.get(Planner.CHUNK_BYTES));
        PlannedSchedule planned = planner.plan(request, key.hint());
        return new Plan(planned.choice().toString(), backend.prepare(planned.schedule(), key.type(), key.op()));
    }

    /** Returns one segment per rank, NULL for those without one; a lone buffer of several ranks is the root's. */
    private MemorySegment[] perRank(List<MemorySegment> buffers, int root) {
        MemorySegment[] segments = new MemorySegment[ranks];
        for (int r = 0; r < ranks; r++) {
            segments[r] = held.contains(r) && buffers.size() == held.count()
                    ? buffers.get(r - held.first())
                    : MemorySegment.NULL;
        }
        if (!buffers.isEmpty() && buffers.size() < held.count()) {
            segments[root] = buffers.getFirst();
        }
        return segments;
    }
}
