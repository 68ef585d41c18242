package dev.banyan.reduce;

import dev.banyan.config.Config;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.backend.NcclRequest;
import dev.banyan.reduce.backend.RankRange;
import dev.banyan.reduce.internal.CallQueue;
import dev.banyan.reduce.internal.CloseAll;
import dev.banyan.reduce.internal.sum.FusedSums;
import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.reduce.internal.sum.SumPasses;
import dev.banyan.reduce.internal.sum.SumRequest;
import dev.banyan.reduce.optimizer.ParameterUpdate;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes calls that a queue can start: each gets its plan, starts its executable, and is recorded as an event. */
final class PlannedCalls implements AutoCloseable {
    private static final int KEPT_PLANS = 512;
    private static final Logger LOG = LoggerFactory.getLogger(PlannedCalls.class);

    private final Planner planner;
    private final Config config;
    private final Backend backend;
    private final int ranks;
    /** The ranks of this process. */
    private final RankRange held;

    private final boolean reproducible;

    /** Why NCCL was not taken; each reason is logged once. */
    private final Set<String> warned = new HashSet<>();

    private final PlanCache plans = new PlanCache(KEPT_PLANS);
    private final SumMemory sumMemory;
    /** Runs the call that was started last. */
    private volatile @Nullable Executable latest;

    PlannedCalls(Planner planner, Config config, Backend backend, int ranks, RankRange held) {
        this.planner = planner;
        this.config = config;
        this.backend = backend;
        this.ranks = ranks;
        this.held = held;
        reproducible = config.get(Algorithms.REPRODUCIBLE);
        sumMemory = new SumMemory(backend, ranks, held);
    }

    /** Returns a call, which has been checked. */
    CallQueue.Call call(CollectiveCall call, @Nullable CallerStreams streams) {
        return new Run(call, streams);
    }

    /** Returns what prepares a call, which has been checked, and does not run it. */
    CallQueue.Call preparation(CollectiveCall call) {
        return new CallQueue.Call() {
            @Override
            public void prepare() {
                plans.get(PlanKey.of(call), PlannedCalls.this::plan)
                        .executable()
                        .warmUp();
            }

            @Override
            public void start(Completion completion) {
                completion.ended(null);
            }
        };
    }

    /** Returns calls that start one after another, which the backend may launch together, and end together. */
    CallQueue.Call batch(List<CallQueue.Call> calls) {
        return new Batch(backend, calls);
    }

    /** Returns batches and updates that start one after another and end together. */
    static CallQueue.Call sequence(List<CallQueue.Call> parts) {
        return new Sequence(parts);
    }

    /** Returns updates of values, which have been checked. */
    static CallQueue.Call update(Backend backend, List<ParameterUpdate> updates) {
        return completion -> backend.update(updates, completion);
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
        CloseAll all = new CloseAll();
        all.close(plans::close);
        all.close(sumMemory::close);
        all.throwFailure();
    }

    private record Sequence(List<CallQueue.Call> parts) implements CallQueue.Call {
        @Override
        public void prepare() {
            parts.forEach(CallQueue.Call::prepare);
        }

        @Override
        public void start(Completion completion) {
            AllEnded all = new AllEnded(completion);
            parts.forEach(part -> all.begin(part::start));
            all.ended(null);
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
        public void start(Completion completion) {
            AllEnded all = new AllEnded(completion);
            try (Backend.Group _ = backend.group()) {
                SumGroup sums = null;
                for (CallQueue.Call call : runs) {
                    if (call instanceof Run run
                            && run.executable() instanceof PassedSum sum
                            && !sum.isAtOnce(run.inputs(), run.outputs())) {
                        sums = run.startWith(sums, sum, all);
                    } else {
                        startIfAny(sums, all);
                        sums = null;
                        all.begin(call::start);
                    }
                }
                startIfAny(sums, all);
            }
            all.ended(null);
        }

        private static void startIfAny(@Nullable SumGroup sums, AllEnded all) {
            if (sums != null) {
                all.begin(ended -> {
                    sums.start();
                    ended.ended(null);
                });
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
        private final @Nullable CallerStreams streams;
        private @Nullable Plan plan;

        Run(CollectiveCall call, @Nullable CallerStreams streams) {
            this.call = call;
            this.streams = streams;
        }

        @Override
        public void prepare() {
            plan = plans.get(PlanKey.of(call), PlannedCalls.this::plan);
        }

        @Override
        public void start(Completion completion) {
            Executable ready = executable();
            latest = ready;
            Recorded recorded = new Recorded(completion);
            try {
                ready.start(inputs(), outputs(), streams, recorded);
            } catch (Throwable e) {
                recorded.end(false);
                throw e;
            }
        }

        /** Adds it to some sums, or starts these and returns a new group with it. */
        SumGroup startWith(@Nullable SumGroup sums, PassedSum sum, AllEnded all) {
            latest = sum;
            SumGroup group = sums;
            if (group == null || !group.fits(inputs(), outputs())) {
                Batch.startIfAny(sums, all);
                group = sum.group();
            }
            SumGroup joined = group;
            all.begin(ended -> joined.add(sum, inputs(), outputs(), streams, new Recorded(ended)));
            return joined;
        }

        /** Returns what runs it; it is prepared. */
        Executable executable() {
            return Objects.requireNonNull(plan).executable();
        }

        private MemorySegment[] inputs() {
            return perRank(call.inputs(), call.root());
        }

        private MemorySegment[] outputs() {
            return perRank(call.outputs(), call.root());
        }

        @Override
        public void poll(Future<?> ended) {
            Plan ready = plan;
            if (ready != null) {
                ready.executable().poll(ended);
            }
        }

        /** Records the run as an event. */
        private final class Recorded implements Completion {
            private final Completion completion;
            private final CollectiveEvent event = new CollectiveEvent();

            Recorded(Completion completion) {
                this.completion = completion;
                event.begin();
            }

            @Override
            public void ended(@Nullable Throwable failure) {
                end(failure == null);
                completion.ended(failure);
            }

            void end(boolean succeeded) {
                event.end();
                if (event.shouldCommit()) {
                    event.succeeded = succeeded;
                    event.collective = call.collective().label();
                    event.algorithm = Objects.requireNonNull(plan).algorithm();
                    event.bytes = call.count() * call.type().bytes();
                    event.ranks = ranks;
                    event.type = call.type().name();
                    event.operation = call.op().name();
                    event.inPlace = call.inPlace();
                    event.commit();
                }
            }
        }
    }

    private Plan plan(PlanKey key) {
        CollectiveRequest request = new CollectiveRequest(
                key.collective(),
                key.root(),
                key.count(),
                key.type().bytes(),
                key.inPlace(),
                config.get(Planner.CHUNK_BYTES));
        if (takesNccl(key, request)) {
            return new Plan(AlgorithmChoice.NCCL.label(), backend.prepare(ncclRequest(key)));
        }
        if (reproducible && ranks > 1 && key.collective().reduces() && ReproducibleSum.covers(key.type(), key.op())) {
            return new Plan("reproducible", reproducible(key));
        }
        PlannedSchedule planned = planner.plan(request, key.hint());
        return new Plan(planned.choice().toString(), backend.prepare(planned.schedule(), key.type(), key.op()));
    }

    private Executable reproducible(PlanKey key) {
        SumRequest request = new SumRequest(
                key.collective(), key.root(), key.count(), key.type(), key.op() == ReduceOp.AVG, key.inPlace());
        return switch (backend) {
            case FusedSums fused -> fused.prepare(request);
            case SumPasses passes ->
                new PassedSum(
                        request,
                        ranks,
                        held,
                        backend,
                        passes,
                        sumMemory,
                        planner,
                        key.hint(),
                        config.get(Planner.CHUNK_BYTES));
            default ->
                throw new UnsupportedOperationException("the backend " + backend.name()
                        + " has no reproducible sums; set " + Algorithms.REPRODUCIBLE.name() + " to 0");
        };
    }

    /**
     * Returns whether NCCL runs a call: if the caller or a setting names it, or if banyan tune found it faster and it
     * gives the same results.
     *
     * @throws UnsupportedOperationException if NCCL is named and cannot run the call
     */
    private boolean takesNccl(PlanKey key, CollectiveRequest request) {
        AlgorithmChoice hinted = key.hint().algorithm();
        if (hinted != AlgorithmChoice.NCCL
                && (hinted != AlgorithmChoice.AUTO || planner.choose(request).algorithm() != AlgorithmChoice.NCCL)) {
            return false;
        }
        boolean tuned = hinted == AlgorithmChoice.AUTO && planner.isAutomatic(request);
        if (tuned && mayDifferByNaN(key)) {
            return false;
        }
        String refusal = isOrdered(key)
                ? Algorithms.REPRODUCIBLE.name() + " asks for results that NCCL does not promise; set it to 0,"
                        + " or name another algorithm than nccl"
                : backend.refusal(ncclRequest(key));
        if (refusal != null && !tuned) {
            throw new UnsupportedOperationException(refusal);
        }
        if (refusal != null && warned.add(refusal)) {
            LOG.warn("banyan tune chose nccl, which is not used: {}", refusal);
        }
        return refusal == null;
    }

    private static NcclRequest ncclRequest(PlanKey key) {
        return new NcclRequest(key.collective(), key.root(), key.count(), key.type(), key.op(), key.inPlace());
    }

    /** NCCL does not say what the least or greatest of numbers is of which one is NaN. */
    private static boolean mayDifferByNaN(PlanKey key) {
        return key.collective().reduces()
                && key.type().isFloating()
                && (key.op() == ReduceOp.MIN || key.op() == ReduceOp.MAX);
    }

    private boolean isOrdered(PlanKey key) {
        return key.collective().reduces() && key.type().isFloating() && reproducible;
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
