package dev.banyan.mpi;

import dev.banyan.config.Config;
import dev.banyan.config.Setting;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.internal.CallQueue;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The processes that {@code mpirun} started together, which include this process. There is one world per process; a
 * process that was started without mpirun is a world of its own. It works with Open MPI 4 and 5. The loader finds the
 * library {@code libmpi.so.40}, unless BANYAN_MPI_LIBRARY names a file.
 *
 * <p><b>End.</b> Every process calls {@link #finish} if it succeeded, and only then: a process that ends without it
 * makes mpirun end all others with a status other than 0. Do not call it after a failure, so not in a {@code finally}.
 * {@link #finishAtExit} is for programs that do not know the world.
 *
 * <p><b>Failures.</b> Every call that waits for other processes has a deadline, BANYAN_TIMEOUT_MS. If the deadline
 * passes or MPI reports an error, the world is broken: that call throws, and so does every later call. End the process
 * then.
 *
 * <p>Safe for use from any thread.
 */
public final class World {
    /** Makes processes compare their collectives. */
    public static final Setting<Boolean> CHECK_ORDER = Setting.flag(
            "BANYAN_CHECK_ORDER",
            false,
            "Makes processes compare key, length and type of what they are about to do before each collective between"
                    + " machines, and fail where it differs instead of hanging.");
    /** Lets MPI itself read and write memory of GPUs. */
    public static final Setting<Boolean> DEVICE_MEMORY = Setting.flag(
            "BANYAN_MPI_DEVICE_MEMORY",
            false,
            "Lets MPI read and write memory of GPUs itself if it reports that it can; otherwise Banyan copies the data"
                    + " to pinned memory of the host for MPI, and back.");
    /** Lets processes of one machine share memory. */
    public static final Setting<Boolean> SHARED_MEMORY = Setting.flag(
            "BANYAN_SHARED_MEMORY",
            true,
            "Lets processes of one machine reduce in memory that they share, so that MPI goes between machines alone.");
    /** The number of collectives that a store of type {@code concum} has in flight at once. */
    public static final Setting<Integer> OUTSTANDING = Setting.wholeNumber(
            "BANYAN_OUTSTANDING",
            "collectives",
            1,
            64,
            4,
            "Limits the collectives that a store of type concum (mpi.md) has in flight between machines.");

    private static final Logger LOG = LoggerFactory.getLogger(World.class);
    /**
     * The time by which a process of a broken world delays its end: mpirun then ends the other processes, which first
     * report their own errors.
     */
    private static final long END_DELAY_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final Object LOCK = new Object();
    private static volatile @Nullable World opened;
    /** Why MPI could not be started, or null if it was started or nothing tried to. */
    private static @Nullable String refusal;

    private final MpiLibrary mpi;
    private final Config config;
    /** Runs the start and the end of MPI on one thread. */
    private final CallQueue control;

    private final Reductions reductions;
    private final List<ProcessGroup> groups = new CopyOnWriteArrayList<>();
    private final ProcessGroup all;
    private final ProcessGroup sameMachine;
    private final String version;
    private final boolean takesDeviceMemory;
    private final boolean sharesMemory;
    private final boolean fillsMachines;
    private volatile @Nullable String broken;
    private volatile boolean finished;
    /** Finishes the world when the process ends, and returns whether it did. Set by {@link #finishAtExit}. */
    private volatile BooleanSupplier atExit = () -> false;

    private World(MpiLibrary mpi, Config config) {
        this.config = config;
        this.mpi = mpi;
        control = new CallQueue("banyan-mpi", config.get(Communicator.TIMEOUT), Duration.ZERO);
        control("the start of MPI", () -> initialize(mpi));
        version = mpi.version();
        takesDeviceMemory = takesDeviceMemory(mpi, config);
        reductions = new Reductions(mpi);
        all = control("the start of MPI", () -> {
            MemorySegment communicator = mpi.handle("ompi_mpi_comm_world");
            ProcessGroup group = ProcessGroup.of(this, new MpiProcesses(this, communicator));
            compareSettings(new OrderCheck(mpi, communicator, group.size()));
            return group;
        });
        sameMachine = all.onSameMachine();
        boolean wanted = config.get(SHARED_MEMORY) && !takesDeviceMemory;
        sharesMemory =
                all.combine(wanted ? 1 : 0, ReduceOp.MIN) == 1 && all.combine(sameMachine.size(), ReduceOp.MAX) > 1;
        Processors mine = Processors.ofThisProcess();
        boolean areShared =
                sameMachine.combine(mine.mask(), ReduceOp.MIN) == sameMachine.combine(mine.mask(), ReduceOp.MAX);
        fillsMachines = all.combine(mine.areTaken(areShared, sameMachine.size()) ? 1 : 0, ReduceOp.MIN) == 1;
    }

    /**
     * Returns the world of this process. The first call starts MPI and returns when all processes have started it.
     *
     * @param config the settings of the first call, which later calls cannot change
     * @throws MpiException if MPI is missing, cannot be started or has ended, or if a setting that all processes must
     *     share differs
     * @throws CollectiveTimeoutException if another process does not open its world within BANYAN_TIMEOUT_MS
     */
    public static World open(Config config) {
        synchronized (LOCK) {
            World world = opened;
            if (world == null) {
                if (refusal != null) {
                    throw new MpiException("MPI could not be started in this process: " + refusal + "; end it");
                }
                world = start(MpiLibrary.load(config.find(MpiLibrary.FILE).orElse(null)), config);
                opened = world;
            }
            world.checkUsable();
            return world;
        }
    }

    private static World start(MpiLibrary mpi, Config config) {
        try {
            World world = new World(mpi, config);
            Runtime.getRuntime().addShutdownHook(new Thread(world::leave, "banyan-mpi-exit"));
            return world;
        } catch (RuntimeException e) {
            refusal = e.getMessage();
            Runtime.getRuntime().addShutdownHook(new Thread(World::delayEnd, "banyan-mpi-exit"));
            throw e;
        }
    }

    private static boolean initialize(MpiLibrary mpi) {
        int level = mpi.number(MpiCall.INITIALIZED) != 0
                ? mpi.number(MpiCall.QUERY_THREAD)
                : mpi.number(MpiCall.INIT_THREAD, MemorySegment.NULL, MemorySegment.NULL, MpiLibrary.THREAD_MULTIPLE);
        if (level < MpiLibrary.THREAD_MULTIPLE) {
            throw new MpiException("this MPI gives thread level " + level + ", but Banyan calls it from several threads"
                    + " (MPI_THREAD_MULTIPLE, " + MpiLibrary.THREAD_MULTIPLE
                    + "); take an Open MPI that was built with threads");
        }
        return true;
    }

    /** Rejects settings that differ between processes and would make them wait for each other or mix up calls. */
    private void compareSettings(OrderCheck check) {
        check.difference("has BANYAN_CHECK_ORDER=" + (config.get(CHECK_ORDER) ? 1 : 0) + ", BANYAN_OUTSTANDING="
                        + config.get(OUTSTANDING) + " and BANYAN_REPRODUCIBLE="
                        + (config.get(Algorithms.REPRODUCIBLE) ? 1 : 0))
                .ifPresent(both -> {
                    throw new MpiException("the processes have different settings: " + both
                            + "; give all the same, variables also on other machines by mpirun -x NAME");
                });
    }

    /** Returns the group of all processes. */
    public ProcessGroup all() {
        return all;
    }

    /** Returns the group of the processes on this machine; a process may choose its devices by its rank there. */
    public ProcessGroup sameMachine() {
        return sameMachine;
    }

    /** Returns the rank of this process, 0..size-1. */
    public int rank() {
        return all.rank();
    }

    /** Returns the number of processes. */
    public int size() {
        return all.size();
    }

    /** Returns the name and version that MPI reports, such as {@code Open MPI v4.1.4}. */
    public String version() {
        return version;
    }

    /**
     * Returns whether MPI itself reads and writes memory of GPUs: BANYAN_MPI_DEVICE_MEMORY is 1, and MPI reports that
     * it can.
     */
    public boolean takesDeviceMemory() {
        return takesDeviceMemory;
    }

    private static boolean takesDeviceMemory(MpiLibrary mpi, Config config) {
        boolean wanted = config.get(DEVICE_MEMORY);
        boolean able = mpi.isCudaAware();
        if (wanted && !able) {
            LOG.warn(
                    "BANYAN_MPI_DEVICE_MEMORY=1 has no effect: {} does not report by MPIX_Query_cuda_support that it"
                            + " can use memory of GPUs; take an Open MPI that was built with CUDA",
                    mpi.version());
        }
        return wanted && able;
    }

    /** Returns the settings that the world was opened with. */
    public Config config() {
        return config;
    }

    /**
     * Waits for the submitted calls and ends MPI together with all other processes. The world accepts no call
     * afterwards.
     *
     * @throws CollectiveTimeoutException if a call in flight does not end, or another process does not finish
     * @throws OrderException if BANYAN_CHECK_ORDER is on and another process runs a collective instead
     * @throws MpiException if the world is broken or was finished before
     */
    public void finish() {
        synchronized (LOCK) {
            checkUsable();
            groups.stream().filter(group -> !group.equals(all)).forEach(ProcessGroup::drain);
            all.agree("ends the world");
            all.drain();
            control("the end of MPI", () -> {
                mpi.call(MpiCall.FINALIZE);
                return true;
            });
            finished = true;
            control.close();
        }
    }

    /**
     * Finishes the world when this process ends, unless the program has finished it or the world is broken. It is for
     * programs that do not know the world and may end by {@link System#exit}. A shutdown hook does not see the exit
     * status, but mpirun does: it ends the other processes if the status is not 0, whether the world is finished or
     * not.
     *
     * @param well returns, when the process ends, whether no failure is known; if false, the world stays unfinished
     * @param patience how long to wait for the other processes to finish; the process then ends unfinished
     */
    public void finishAtExit(BooleanSupplier well, Duration patience) {
        atExit = () -> well.getAsBoolean() && finishWithin(patience);
    }

    private boolean finishWithin(Duration patience) {
        Thread finishing = Thread.ofPlatform()
                .daemon()
                .name("banyan-mpi-finish")
                .start(() -> {
                    try {
                        finish();
                    } catch (RuntimeException e) {
                        LOG.error("the world of MPI can't be finished: {}", e.getMessage());
                    }
                });
        try {
            return finishing.join(patience) && finished;
        } catch (InterruptedException e) {
            return false;
        }
    }

    /** Returns whether processes of one machine reduce in memory that they share; the same in all processes. */
    boolean sharesMemory() {
        return sharesMemory;
    }

    /** Returns whether no process has a processor besides the one that it runs on; the same in all processes. */
    boolean fillsMachines() {
        return fillsMachines;
    }

    MpiLibrary mpi() {
        return mpi;
    }

    Reductions reductions() {
        return reductions;
    }

    void joined(ProcessGroup group) {
        groups.add(group);
    }

    void left(ProcessGroup group) {
        groups.remove(group);
    }

    /** @throws MpiException if the world is broken or finished */
    void checkUsable() {
        String why = broken;
        if (why != null) {
            throw new MpiException("the world of MPI is broken: " + why + "; end this process");
        }
        if (finished) {
            throw new MpiException(
                    "the world of MPI was finished, and MPI can't be started twice in one process; finish it"
                            + " when all is done");
        }
    }

    /** Makes every later call fail. The first reason stays. */
    private synchronized void breakDown(String why) {
        if (broken == null) {
            broken = why;
        }
    }

    /**
     * Returns the exception that reports a failed call, and breaks the world unless the failure is one of order.
     *
     * @param what the call for the message, e.g. {@code all_reduce of key 7}
     * @param timeout of the call
     */
    RuntimeException failure(String what, Duration timeout, Throwable cause) {
        RuntimeException reported = switch (cause) {
            case OrderException e -> e;
            case CollectiveTimeoutException e ->
                new CollectiveTimeoutException(place(what)
                        + " did not end within "
                        + timeout.toMillis()
                        + " ms: another process died, hangs, or never did its part; see what the others say, or allow"
                        + " more time by BANYAN_TIMEOUT_MS");
            default -> new MpiException(place(what) + ": " + cause.getMessage(), cause);
        };
        if (!(reported instanceof OrderException)) {
            breakDown(String.valueOf(reported.getMessage()));
        }
        return reported;
    }

    /** Prefixes a message with the rank. Before MPI has started, the rank is in variables that mpirun sets. */
    private static String place(String what) {
        World world = opened;
        String rank = world == null ? System.getenv("OMPI_COMM_WORLD_RANK") : Integer.toString(world.rank());
        String size = world == null ? System.getenv("OMPI_COMM_WORLD_SIZE") : Integer.toString(world.size());
        return rank == null || size == null ? what : "rank " + rank + " of " + size + ": " + what;
    }

    /** Runs a call on the thread that started MPI and returns its result. */
    private <T> T control(String what, Supplier<T> call) {
        AtomicReference<@Nullable T> result = new AtomicReference<>();
        try {
            control.submit(() -> result.set(call.get())).join();
        } catch (CompletionException e) {
            throw failure(what, config.get(Communicator.TIMEOUT), Objects.requireNonNull(e.getCause()));
        }
        return Objects.requireNonNull(result.get());
    }

    /** Runs when the process ends. */
    private void leave() {
        if (finished || size() == 1 || (broken == null && atExit.getAsBoolean())) {
            return;
        }
        if (broken == null) {
            LOG.error(
                    "rank {} of {} ends before its world was finished: it failed, or was ended because another process"
                            + " did; mpirun ends the others",
                    rank(),
                    size());
        } else {
            delayEnd();
        }
    }

    private static void delayEnd() {
        long end = System.nanoTime() + END_DELAY_NANOS;
        for (long left = END_DELAY_NANOS; left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }
}
