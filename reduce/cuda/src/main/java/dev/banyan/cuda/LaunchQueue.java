package dev.banyan.cuda;

import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.optimizer.ParameterUpdate;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Launches what is started on the devices of a backend: graphs, device programs, collectives of NCCL and updates of
 * values. They run in the
 * order of their starts, and each also behind what is in the caller's streams, if it was given any. {@link Runs}
 * watches how they end. An executable is freed when it has been released and its runs have ended.
 *
 * <p>Safe for use from any thread. One lock guards launches, groups and the set of executables, so that runs have one
 * order on all devices. A thread that holds it waits for no device; it may take the lock of {@link Runs}, under which
 * nobody takes this one.
 */
final class LaunchQueue {
    private final ReentrantLock lock = new ReentrantLock();

    private final Ranks ranks;
    private final GraphCache graphs;
    private final GraphLauncher graphLauncher;
    private final ProgramLauncher programLauncher;
    private final UpdateLauncher updateLauncher;
    private final NcclLauncher ncclLauncher;
    private final BufferAccess access;
    private final Runs runs;
    private final StreamJoin join;
    /** Frees what an executable has alone. */
    private final Consumer<Executable> freeing;

    private final Set<Executable> executables = new LinkedHashSet<>();
    /** Released executables that have runs in flight. */
    private final Set<Executable> released = new LinkedHashSet<>();
    /** The last one that was launched; what another executor launches waits for it. */
    private @Nullable Run last;
    /** Gather what threads start. */
    private final Map<Thread, CudaGroup> groups = new HashMap<>();

    private volatile boolean closed;

    /**
     * @param ranks the device of each rank; the context of the first is current when the queue is made
     * @param devices all devices, in the order in which they first appear among the ranks
     * @param memory of device programs
     * @param access checks and opens buffers
     * @param timeoutNanos how long a run may take
     * @param tuning how it launches
     * @param company the processes that take part
     * @param freeing frees what an executable has alone, of which nothing runs; called by one thread at a time
     */
    LaunchQueue(
            Ranks ranks,
            Set<CudaDevice> devices,
            ProgramMemory memory,
            BufferAccess access,
            long timeoutNanos,
            Tuning tuning,
            Company company,
            Consumer<Executable> freeing) {
        this.ranks = ranks;
        this.access = access;
        this.freeing = freeing;
        graphLauncher = new GraphLauncher(ranks.leader());
        programLauncher = new ProgramLauncher(
                List.copyOf(devices),
                memory,
                timeoutNanos,
                tuning.clock(),
                tuning.firstFlag(),
                tuning.launchThreads() == Tuning.FITTING
                        ? LaunchThreads.fitting(devices.size())
                        : tuning.launchThreads());
        updateLauncher = new UpdateLauncher(ranks, List.copyOf(devices), programLauncher);
        ncclLauncher = new NcclLauncher(
                ranks.held(), List.copyOf(devices), programLauncher, tuning.ncclLibrary(), timeoutNanos);
        runs = new Runs(ranks.leader(), devices, timeoutNanos, tuning.clock(), this::isBusy, company, tuning.watcher());
        graphs = new GraphCache(
                tuning.graphNodes(),
                graph -> runs.isInFlight(run ->
                        run instanceof GraphRun ofGraph && ofGraph.graph().equals(graph)));
        join = new StreamJoin(ranks.held());
    }

    /**
     * Adds an executable.
     *
     * @param making makes it; called under the lock
     */
    Executable add(Supplier<Executable> making) {
        lock.lock();
        try {
            checkStartable();
            freeReleased();
            Executable executable = making.get();
            executables.add(executable);
            return executable;
        } finally {
            lock.unlock();
        }
    }

    /** Frees what an executable has, or keeps it until its runs have ended. */
    void release(Executable executable) {
        CallerContext.tryKeep(ranks.leader(), inTurn(() -> {
            if (executables.remove(executable)) {
                released.add(executable);
                freeReleased();
            }
        }));
    }

    /** Returns calls under the lock, which the thread takes that makes them. */
    private Runnable inTurn(Runnable calls) {
        return () -> {
            lock.lock();
            try {
                calls.run();
            } finally {
                lock.unlock();
            }
        };
    }

    private void freeReleased() {
        if (ProcessFault.isThere()) {
            return;
        }
        released.removeIf(executable -> {
            if (runs.isInFlight(run -> run.isOf(executable))
                    || groups.values().stream().anyMatch(group -> group.holds(executable))) {
                return false;
            }
            free(executable);
            return true;
        });
    }

    private void free(Executable executable) {
        if (executable instanceof CudaExecutable graph) {
            graphs.remove(graph);
        }
        freeing.accept(executable);
    }

    /** Opens the group of the calling thread. */
    CudaGroup group() {
        lock.lock();
        try {
            CudaGroup opened = new CudaGroup(this);
            if (groups.putIfAbsent(Thread.currentThread(), opened) != null) {
                throw new IllegalStateException("this thread has opened a group; close it first");
            }
            return opened;
        } finally {
            lock.unlock();
        }
    }

    /** Launches what a group has gathered, and ends it. */
    void end(CudaGroup ended) {
        Thread caller = Thread.currentThread();
        CallerContext.keep(ranks.leader(), inTurn(() -> {
            groups.remove(caller, ended);
            flush(ended);
        }));
    }

    /**
     * Puts a run behind those before, and into the caller's streams if there are any.
     *
     * @param completion learns of the run's end
     * @throws CudaException if a launch fails, which breaks the backend
     */
    void start(
            Executable executable,
            MemorySegment[] inputs,
            MemorySegment[] outputs,
            @Nullable CallerStreams streams,
            Completion completion) {
        CudaStreams callers = streams == null ? null : join.check(streams);
        Thread caller = Thread.currentThread();
        CallerContext.keep(ranks.leader(), inTurn(() -> {
            checkLaunchable();
            start(groups.get(caller), executable, inputs, outputs, callers, completion);
        }));
    }

    private CudaException failed(CudaException e) {
        return runs.failure() == null ? breaking(runs.explain(e)) : e;
    }

    private void start(
            @Nullable CudaGroup open,
            Executable executable,
            MemorySegment[] inputs,
            MemorySegment[] outputs,
            @Nullable CudaStreams callers,
            Completion completion) {
        switch (executable) {
            case ProgramExecutable program -> {
                ProgramBatch.Member call = program.call(access, inputs, outputs);
                if (open == null) {
                    try {
                        launch(call.alone(), callers, completion);
                    } catch (CudaException e) {
                        throw failed(e);
                    }
                } else if (!open.add(call, callers, completion)) {
                    flush(open);
                    open.add(call, callers, completion);
                }
            }
            case CudaExecutable graph -> {
                if (open != null) {
                    flush(open);
                }
                try {
                    launch(graph, inputs, outputs, callers, completion);
                } catch (CudaException e) {
                    throw runs.failure() == null ? breaking(runs.explain(graph, e)) : e;
                }
            }
            case NcclExecutable nccl -> {
                if (open != null) {
                    flush(open);
                }
                try {
                    launch(
                            nccl,
                            QueuedExecutable.addresses(inputs),
                            QueuedExecutable.addresses(outputs),
                            callers,
                            completion);
                } catch (CudaException e) {
                    throw failed(e);
                }
            }
            default -> throw new IllegalArgumentException("an executable of another backend");
        }
    }

    /** Launches what a group has gathered up to now. */
    private void flush(CudaGroup gathered) {
        if (gathered.isEmpty()) {
            return;
        }
        Completion completion = gathered.completion();
        CudaStreams callers = gathered.streams();
        List<ProgramBatch.Member> members = gathered.take();
        try {
            checkLaunchable();
            launch(members, callers, completion);
        } catch (CudaException e) {
            completion.ended(failed(e));
        } catch (RuntimeException e) {
            completion.ended(e);
        }
    }

    private void launch(
            CudaExecutable executable,
            MemorySegment[] inputs,
            MemorySegment[] outputs,
            @Nullable CudaStreams callers,
            Completion completion) {
        GraphCache.Key key = executable.key(inputs, outputs);
        Graph graph = graphs.get(key, () -> executable.build(key, access));
        if (last != null && !(last instanceof GraphRun)) {
            graphLauncher.waitFor(last.ended());
        }
        if (callers != null) {
            join.after(callers, _ -> graphLauncher.stream());
        }
        GraphRun run = graphLauncher.launch(executable, graph, runs.takeMarks(executable));
        if (callers != null) {
            join.before(callers, _ -> run.ended().getFirst());
        }
        // Last of all that may fail: the completion learns of the end, or the start throws, but not both.
        runs.add(run, completion);
        last = run;
    }

    private void launch(List<ProgramBatch.Member> members, @Nullable CudaStreams callers, Completion completion) {
        if (last instanceof GraphRun) {
            programLauncher.waitFor(last.ended());
        }
        if (callers != null) {
            join.after(callers, index -> programLauncher.stream(ranks.held().get(index)));
        }
        ProgramRun run = programLauncher.launch(members);
        if (callers != null) {
            join.before(callers, index -> run.ended(ranks.held().get(index)));
        }
        runs.add(run, completion);
        last = run;
    }

    private void launch(
            NcclExecutable executable,
            long[] inputs,
            long[] outputs,
            @Nullable CudaStreams callers,
            Completion completion) {
        executable.check(access, inputs, outputs);
        if (last instanceof GraphRun) {
            programLauncher.waitFor(last.ended());
        }
        if (callers != null) {
            join.after(callers, rank -> programLauncher.stream(ranks.get(rank)));
        }
        NcclRun run = ncclLauncher.launch(executable, inputs, outputs);
        if (callers != null) {
            join.before(callers, rank -> ncclLauncher.ended(run, ranks.get(rank)));
        }
        runs.add(run, completion);
        last = run;
    }

    /** Returns what launches collectives of NCCL. */
    NcclLauncher nccl() {
        return ncclLauncher;
    }

    /**
     * Launches updates of values behind the runs before.
     *
     * @param completion learns of their end
     * @throws CudaException if a launch fails, which breaks the backend
     */
    void update(List<ParameterUpdate> updates, Completion completion) {
        CallerContext.keep(ranks.leader(), inTurn(() -> {
            checkLaunchable();
            updates.forEach(update -> access.check(update, ranks.get(update.rank())));
            if (last instanceof GraphRun) {
                programLauncher.waitFor(last.ended());
            }
            try {
                UpdateRun run = updateLauncher.launch(updates);
                runs.add(run, completion);
                last = run;
            } catch (CudaException e) {
                throw failed(e);
            }
        }));
    }

    /** Asks the runs of an executable that are in flight to end early. */
    void stop(Executable executable) {
        runs.stop(executable);
    }

    /** Returns whether a stream of launches is not known to have come to its end. */
    boolean isBusy() {
        return graphLauncher.isBusy() || programLauncher.isBusy();
    }

    /**
     * Looks for ends of runs on the calling thread for a short while, until a future is done. A virtual thread leaves
     * that to the watcher, as another thread for it would not be there sooner.
     */
    void poll(Future<?> ended) {
        if (ended.isDone() || Thread.currentThread().isVirtual()) {
            return;
        }
        var _ = CallerContext.tryKeep(ranks.leader(), kept -> {
            if (kept) {
                runs.poll(ended);
            }
            return kept;
        });
    }

    /**
     * Checks that the backend is neither broken nor closed.
     *
     * @throws CudaException if a run has failed
     * @throws IllegalStateException if the backend is closed
     */
    void checkUsable() {
        runs.checkUnbroken();
        if (closed) {
            throw new IllegalStateException("the backend is closed; make a new one");
        }
    }

    /**
     * Checks that runs can be started, as {@link #checkUsable} does.
     *
     * @throws IllegalStateException also if another process has ended, left or failed
     */
    void checkStartable() {
        checkUsable();
        RuntimeException lost = runs.lostForMore();
        if (lost != null) {
            throw breaking(lost);
        }
    }

    /** Checks that runs can be started, and lets the watcher run before they are launched. */
    private void checkLaunchable() {
        checkStartable();
        runs.beginWatching();
    }

    /** Returns an error of the driver, which breaks the backend where a device has a fault. */
    CudaException brokenBy(CudaException error) {
        CudaException explained = runs.explain(error);
        return explained.equals(error) ? error : breaking(explained);
    }

    /** Fails all runs that have not ended, lets no further one start, and returns the reason. */
    <E extends RuntimeException> E breaking(E reason) {
        runs.breakWith(reason);
        return reason;
    }

    /** Returns why no further run is launched, or null. */
    @Nullable
    RuntimeException failure() {
        return runs.failure();
    }

    /** Returns why no further run can end as another process has ended, left or failed, or null. */
    @Nullable
    RuntimeException lost() {
        return runs.lost();
    }

    boolean isClosed() {
        return closed;
    }

    /**
     * Lets no further run start and waits for those that were started, each of which ends or times out.
     *
     * @return false, at once, if it was called before
     */
    boolean close() {
        lock.lock();
        try {
            if (closed) {
                return false;
            }
            closed = true;
        } finally {
            lock.unlock();
        }
        CallerContext.tryKeep(ranks.leader(), runs::close);
        return true;
    }

    /**
     * Frees all executables, graphs, streams and events; nothing runs.
     *
     * @return results of the driver
     */
    List<Integer> free() {
        ncclLauncher.free();
        executables.forEach(this::free);
        released.forEach(this::free);
        List<Integer> results = new ArrayList<>();
        results.addAll(graphs.free());
        results.addAll(join.free());
        results.addAll(graphLauncher.free());
        results.addAll(programLauncher.free());
        return results;
    }
}
