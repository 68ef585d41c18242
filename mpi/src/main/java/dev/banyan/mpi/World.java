package dev.banyan.mpi;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.banyan.config.Config;
import dev.banyan.config.Setting;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.internal.CallQueue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The processes that {@code mpirun} started together, this one among them. There is one world per process; a process
 * that was started without mpirun is a world of its own. Works with Open MPI 4 and 5, whose library {@code
 * libmpi.so.40} the loader finds or the file is that BANYAN_MPI_LIBRARY names.
 *
 * <p><b>End.</b> Every process calls {@link #finish} when all went well, and only then: a process that ends
 * without it makes mpirun end all others, with a status that is not 0. So leave it out where something failed: don't
 * put it into a {@code finally}. {@link #finishAtExit} is for programs that don't know of the world.
 *
 * <p><b>Failures.</b> Whatever waits for other processes has a deadline, BANYAN_TIMEOUT_MS. If it passes, or MPI
 * reports an error, the world is broken: that call throws, and so does every later one. End the process then.
 *
 * <p>Safe for use from any thread.
 */
public final class World {
    /** Whether processes compare their collectives. */
    public static final Setting<Boolean> CHECK_ORDER = Setting.flag(
            "BANYAN_CHECK_ORDER",
            false,
            "Makes processes compare key, length and type of what they are about to do before each collective between"
                    + " machines, and fail where it differs instead of hanging.");
    /** The number of collectives in flight of a store of type {@code concum}. */
    public static final Setting<Integer> OUTSTANDING = Setting.wholeNumber(
            "BANYAN_OUTSTANDING",
            "collectives",
            1,
            64,
            4,
            "Limits the collectives that a store of type concum has in flight between machines.");

    private static final Logger LOG = LoggerFactory.getLogger(World.class);
    /**
     * What a process of a broken world waits with its end: mpirun ends the others with it, which have errors to
     * tell.
     */
    private static final long FAREWELL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final Object LOCK = new Object();
    private static volatile @Nullable World opened;
    /** Why MPI could not be started. */
    private static @Nullable String refusal;

    private final MpiLibrary mpi;
    private final Config config;
    /** Its thread starts MPI and ends it. */
    private final CallQueue control;

    private final Reductions reductions;
    private final List<ProcessGroup> groups = new CopyOnWriteArrayList<>();
    /** MPI may still write into their buffers. */
    private final Set<StartedReduction> underWay = ConcurrentHashMap.newKeySet();

    private final ProcessGroup all;
    private final ProcessGroup sameMachine;
    private final String version;
    private final boolean cudaAware;
    private volatile @Nullable String broken;
    private volatile boolean finished;
    /** What finishes it when the process ends; does nothing where the program does that itself. */
    private volatile BooleanSupplier atExit = () -> false;

    private World(MpiLibrary mpi, Config config) {
        this.config = config;
        this.mpi = mpi;
        control = new CallQueue("banyan-mpi", config.get(Communicator.TIMEOUT), Duration.ZERO);
        control("the start of MPI", () -> start(mpi));
        version = mpi.version();
        cudaAware = mpi.isCudaAware();
        reductions = new Reductions(mpi);
        all = control("the start of MPI", () -> {
            MemorySegment communicator = mpi.handle("ompi_mpi_comm_world");
            ProcessGroup group = ProcessGroup.of(this, communicator);
            compareSettings(new OrderCheck(mpi, communicator, group.size()));
            return group;
        });
        sameMachine = all.onSameMachine();
    }

    /**
     * The world of this process; the first call starts MPI, and returns when all processes have done so.
     *
     * @param config settings: of the timeout and the check of the order; those of the first call count
     * @throws MpiException if MPI is not there, can't be started, or was ended already, or another process has another
     *     setting that all must share
     * @throws CollectiveTimeoutException if another process does not open it within BANYAN_TIMEOUT_MS
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
            Runtime.getRuntime().addShutdownHook(new Thread(World::sayFarewell, "banyan-mpi-exit"));
            throw e;
        }
    }

    private static boolean start(MpiLibrary mpi) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment given = arena.allocate(JAVA_INT);
            if (mpi.number(MpiCall.INITIALIZED) != 0) {
                mpi.call(MpiCall.QUERY_THREAD, given);
            } else {
                mpi.call(
                        MpiCall.INIT_THREAD, MemorySegment.NULL, MemorySegment.NULL, MpiLibrary.THREAD_MULTIPLE, given);
            }
            int level = given.get(JAVA_INT, 0);
            if (level < MpiLibrary.THREAD_MULTIPLE) {
                throw new MpiException(
                        "this MPI gives thread level " + level + ", but Banyan calls it from several threads"
                                + " (MPI_THREAD_MULTIPLE, " + MpiLibrary.THREAD_MULTIPLE
                                + "); take an Open MPI that was built with threads");
            }
            return true;
        }
    }

    /**
     * Those with which processes would wait for each other, or take one call for another, if they were not the
     * same.
     */
    private void compareSettings(OrderCheck check) {
        check.difference("has BANYAN_CHECK_ORDER=" + (config.get(CHECK_ORDER) ? 1 : 0) + " and BANYAN_OUTSTANDING="
                        + config.get(OUTSTANDING))
                .ifPresent(both -> {
                    throw new MpiException("the processes have different settings: " + both
                            + "; give all the same, variables also on other machines by mpirun -x NAME");
                });
    }

    /** All processes. */
    public ProcessGroup all() {
        return all;
    }

    /** The processes that share this one's machine; their ranks are what tells them which of its devices are theirs. */
    public ProcessGroup sameMachine() {
        return sameMachine;
    }

    /** Rank of this process, 0..size-1. */
    public int rank() {
        return all.rank();
    }

    /** Number of processes. */
    public int size() {
        return all.size();
    }

    /** What MPI says that it is, e.g. {@code Open MPI v4.1.4}. */
    public String version() {
        return version;
    }

    /** Whether this MPI says that it takes memory of CUDA devices. */
    public boolean isCudaAware() {
        return cudaAware;
    }

    /** The settings that it was opened with. */
    public Config config() {
        return config;
    }

    /**
     * Waits for what was submitted or started, and ends MPI together with all other processes. Nothing can be done with
     * the world any more.
     *
     * @throws CollectiveTimeoutException if work is in flight that does not end, or another process does not finish
     * @throws OrderException if BANYAN_CHECK_ORDER is on and another process runs a collective instead
     * @throws MpiException if the world is broken or finished already
     */
    public void finish() {
        synchronized (LOCK) {
            checkUsable();
            groups.stream().filter(group -> !group.equals(all)).forEach(ProcessGroup::drain);
            underWay.forEach(StartedReduction::await);
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
     * Lets the end of this process finish the world if nothing has done so and the world isn't broken: for programs
     * that don't know of it and may end by {@link System#exit}. No hook can see an exit's status, but mpirun does: it
     * ends the others if that isn't 0, finished or not. A process that ends while others work on without it, and so
     * can't finish, ends unfinished after the patience.
     *
     * @param well asked when the process ends: whether it may be finished, as nothing is known to have failed
     * @param patience how long to wait for the others to finish
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

    MpiLibrary mpi() {
        return mpi;
    }

    Reductions reductions() {
        return reductions;
    }

    /** What was started and has not ended, so that its memory stays even if everybody else has forgotten it. */
    Set<StartedReduction> underWay() {
        return underWay;
    }

    void joined(ProcessGroup group) {
        groups.add(group);
    }

    void left(ProcessGroup group) {
        groups.remove(group);
    }

    /** @throws MpiException if it is broken or finished */
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

    /** Nothing can be done with the other processes any more. The first reason stays. */
    private synchronized void breakDown(String why) {
        if (broken == null) {
            broken = why;
        }
    }

    /**
     * Why a call failed, as it is told.
     *
     * @param what what was done, e.g. {@code all_reduce of key 7}
     */
    RuntimeException failure(String what, Throwable cause) {
        RuntimeException told = switch (cause) {
            case OrderException e -> e;
            case CollectiveTimeoutException e ->
                new CollectiveTimeoutException(place(what)
                        + " did not end within "
                        + config.get(Communicator.TIMEOUT).toMillis()
                        + " ms: another process died, hangs, or never did its part; see what the others say, or allow"
                        + " more time by BANYAN_TIMEOUT_MS");
            default -> new MpiException(place(what) + ": " + cause.getMessage(), cause);
        };
        if (!(told instanceof OrderException)) {
            breakDown(String.valueOf(told.getMessage()));
        }
        return told;
    }

    /** Before MPI has started, mpirun has told the rank. */
    private static String place(String what) {
        World world = opened;
        String rank = world == null ? System.getenv("OMPI_COMM_WORLD_RANK") : Integer.toString(world.rank());
        String size = world == null ? System.getenv("OMPI_COMM_WORLD_SIZE") : Integer.toString(world.size());
        return rank == null || size == null ? what : "rank " + rank + " of " + size + ": " + what;
    }

    private interface Call<T> {
        T run();
    }

    /** On the thread that MPI was started on. */
    private <T> T control(String what, Call<T> call) {
        AtomicReference<@Nullable T> result = new AtomicReference<>();
        try {
            control.submit(() -> result.set(call.run())).join();
        } catch (CompletionException e) {
            throw failure(what, Objects.requireNonNull(e.getCause()));
        }
        return Objects.requireNonNull(result.get());
    }

    /** When the process ends. */
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
            sayFarewell();
        }
    }

    private static void sayFarewell() {
        long end = System.nanoTime() + FAREWELL_NANOS;
        for (long left = FAREWELL_NANOS; left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }
}
