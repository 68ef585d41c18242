package dev.banyan.cuda.internal.launch;

import dev.banyan.cuda.internal.driver.CallerContext;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.ProcessFault;
import dev.banyan.cuda.internal.job.JobPeers;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.cuda.type.CudaStreams;
import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Puts what is started on the devices of a backend into one order, whatever {@link Launcher} launches it, and each run
 * also behind what is in the caller's streams, if it was given any. {@link Runs} watches how they end. An executable is
 * freed when it has been released and its runs have ended.
 *
 * <p>Safe for use from any thread. One lock guards launches, groups and the set of executables, so that runs have one
 * order on all devices. A thread that holds it waits for no device; it may take the lock of {@link Runs}, under which
 * nobody takes this one.
 */
public final class LaunchQueue {
    private final ReentrantLock lock = new ReentrantLock();

    private final Ranks ranks;
    private final Runs runs;
    private final StreamJoin join;
    private final List<Launcher> launchers = new ArrayList<>();

    private final Set<QueuedExecutable> executables = new LinkedHashSet<>();
    /** Released executables that have runs in flight. */
    private final Set<QueuedExecutable> released = new LinkedHashSet<>();
    /** The last run that was launched; what another launcher launches waits for it. */
    private @Nullable Run last;

    private @Nullable Launcher lastLauncher;
    /** The groups that threads have open. */
    private final Map<Thread, Gathering> groups = new HashMap<>();

    private volatile boolean closed;

    /**
     * @param ranks the device of each rank; the context of the first is current when the queue is made
     * @param devices all devices, in the order in which they first appear among the ranks
     * @param timeoutNanos how long a run may take
     * @param clock the time, as {@link System#nanoTime()}
     * @param jobPeers the processes that take part
     * @param watcher runs the thread that waits for the ends of runs
     */
    public LaunchQueue(
            Ranks ranks,
            Set<CudaDevice> devices,
            long timeoutNanos,
            LongSupplier clock,
            JobPeers jobPeers,
            Executor watcher) {
        this.ranks = ranks;
        runs = new Runs(ranks.leader(), devices, timeoutNanos, clock, this::isBusy, jobPeers, watcher);
        join = new StreamJoin(ranks.held());
    }

    /** Takes streams in which runs will be launched; nothing was started. */
    public <L extends Launcher> L attach(L launcher) {
        launchers.add(launcher);
        return launcher;
    }

    /**
     * Adds an executable.
     *
     * @param making makes it; called under the lock
     */
    public <E extends QueuedExecutable> E add(Supplier<E> making) {
        lock.lock();
        try {
            checkStartable();
            freeReleased();
            E executable = making.get();
            executables.add(executable);
            return executable;
        } finally {
            lock.unlock();
        }
    }

    /** Frees what an executable has, or keeps it until its runs have ended. */
    void release(QueuedExecutable executable) {
        CallerContext.tryKeep(ranks.leader(), locked(() -> {
            if (executables.remove(executable)) {
                released.add(executable);
                freeReleased();
            }
        }));
    }

    /** Returns calls under the lock, which the thread takes that makes them. */
    private Runnable locked(Runnable calls) {
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
            executable.free();
            return true;
        });
    }

    /** Opens a group of the calling thread. */
    public <G extends Gathering> G open(G group) {
        lock.lock();
        try {
            if (groups.putIfAbsent(Thread.currentThread(), group) != null) {
                throw new IllegalStateException("this thread has opened a group; close it first");
            }
            return group;
        } finally {
            lock.unlock();
        }
    }

    /** Launches what a group of the calling thread has gathered, and ends it. */
    public void end(Gathering ended) {
        Thread caller = Thread.currentThread();
        CallerContext.keep(ranks.leader(), locked(() -> {
            groups.remove(caller, ended);
            ended.flush();
        }));
    }

    /**
     * Puts a run behind those before, and into the caller's streams if there are any.
     *
     * @param completion learns of the run's end
     * @throws CudaException if a launch fails, which breaks the backend
     */
    void start(
            QueuedExecutable executable,
            MemorySegment[] inputs,
            MemorySegment[] outputs,
            @Nullable CallerStreams streams,
            Completion completion) {
        Place place = new Place(streams == null ? null : join.check(streams), completion);
        Thread caller = Thread.currentThread();
        inTurn(() -> executable.launch(groups.get(caller), inputs, outputs, place));
    }

    /**
     * Puts a run that is no executable's behind those before, also those that the calling thread gathers, and into the
     * caller's streams if there are any.
     *
     * @param completion learns of the run's end
     * @throws CudaException if a launch fails, which breaks the backend
     */
    public void start(Launcher launcher, Supplier<Run> launch, @Nullable CallerStreams streams, Completion completion) {
        Place place = new Place(streams == null ? null : join.check(streams), completion);
        Thread caller = Thread.currentThread();
        inTurn(() -> {
            Gathering open = groups.get(caller);
            if (open != null) {
                open.flush();
            }
            launch(launcher, launch, place);
        });
    }

    /** Lets calls of {@link #launch} follow those before. */
    public void inTurn(Runnable launches) {
        CallerContext.keep(ranks.leader(), locked(() -> {
            checkLaunchable();
            launches.run();
        }));
    }

    /**
     * Launches a run behind those before, {@linkplain #inTurn in its turn}.
     *
     * @param launcher has the streams of the run
     * @param launch launches it there
     * @param place of the run; its completion learns of the end, unless this method throws
     * @throws CudaException if that fails, which breaks the backend
     */
    public void launch(Launcher launcher, Supplier<Run> launch, Place place) {
        launch(launcher, launch, null, place);
    }

    /** Does the same for a launch that says, for messages, what of it failed on a faulty device. */
    public void launch(
            Launcher launcher, Supplier<Run> launch, @Nullable Function<CudaDevice, String> failing, Place place) {
        List<CudaDevice> devices = ranks.held();
        CudaStreams callers = place.streams();
        try {
            if (last != null && !launcher.equals(lastLauncher)) {
                launcher.waitFor(last.ended());
            }
            if (callers != null) {
                join.after(callers, rank -> launcher.stream(devices.get(rank)));
            }
            Run run = launch.get();
            if (callers != null) {
                join.before(callers, rank -> run.ended(devices.get(rank)));
            }
            // Last of all that may fail: the completion learns of the end, or the start throws, but not both.
            runs.add(run, place.completion());
            last = run;
            lastLauncher = launcher;
        } catch (CudaException e) {
            throw runs.failure() == null ? breaking(runs.explain(e, failing)) : e;
        }
    }

    /** Does something to all runs of an executable that are in flight, and returns whether there are any. */
    public boolean each(Executable executable, Consumer<Run> what) {
        return runs.each(executable, what);
    }

    /** Returns whether a run is not known to have ended. */
    public boolean isInFlight(Predicate<Run> which) {
        return runs.isInFlight(which);
    }

    /** Returns whether a stream of launches is not known to have come to its end. */
    public boolean isBusy() {
        return launchers.stream().anyMatch(Launcher::isBusy);
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
    public void checkUsable() {
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
    public void checkStartable() {
        checkUsable();
        RuntimeException lost = runs.lostForMore();
        if (lost != null) {
            throw breaking(lost);
        }
    }

    /** Checks that runs can be started, and lets the watcher run before they are launched. */
    public void checkLaunchable() {
        checkStartable();
        runs.beginWatching();
    }

    /** Returns an error of the driver, which breaks the backend where a device has a fault. */
    public CudaException brokenBy(CudaException error) {
        CudaException explained = runs.explain(error, null);
        return explained.equals(error) ? error : breaking(explained);
    }

    /** Fails all runs that have not ended, lets no further one start, and returns the reason. */
    public <E extends RuntimeException> E breaking(E reason) {
        runs.breakWith(reason);
        return reason;
    }

    /** Returns why no further run is launched, or null. */
    @Nullable
    public RuntimeException failure() {
        return runs.failure();
    }

    /** Returns why no further run can end as another process has ended, left or failed, or null. */
    @Nullable
    public RuntimeException lost() {
        return runs.lost();
    }

    public boolean isClosed() {
        return closed;
    }

    /**
     * Lets no further run start and waits for those that were started, each of which ends or times out.
     *
     * @return false, at once, if it was called before
     */
    public boolean close() {
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
    public List<Integer> free() {
        executables.forEach(QueuedExecutable::free);
        released.forEach(QueuedExecutable::free);
        List<Integer> results = new ArrayList<>(join.free());
        launchers.forEach(launcher -> results.addAll(launcher.free()));
        return results;
    }
}
