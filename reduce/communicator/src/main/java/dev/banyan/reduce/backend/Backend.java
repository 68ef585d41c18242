package dev.banyan.reduce.backend;

import dev.banyan.config.Config;
import dev.banyan.reduce.optimizer.ParameterUpdate;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Runs schedules on some devices. Methods may be called from any thread; the memory that {@link #close} frees must no
 * longer be in use.
 */
public interface Backend extends AutoCloseable {
    /** Returns its name as the command takes it, e.g. {@code host}. */
    String name();

    /** Returns whether the host's threads may read and write buffers themselves. */
    boolean inHostMemory();

    /**
     * Returns the ranks of this process, whose buffers calls have: all, unless other processes hold some.
     *
     * @param ranks their number in all processes
     */
    default RankRange held(int ranks) {
        return new RankRange(0, ranks);
    }

    /**
     * Allocates memory of a rank's device, aligned to 64 bytes and zeroed. {@link #close} frees it.
     *
     * @param rank 0..n-1
     * @param bytes size in bytes, at least 0
     */
    MemorySegment allocate(int rank, long bytes);

    /**
     * Allocates a buffer for each rank of this process, as {@link #allocate(int, long)} does. If other processes hold
     * ranks, all may have to call it in the same order and with as many bytes.
     *
     * @param ranks their number in all processes
     * @param bytes size of each in bytes, at least 0
     */
    default List<MemorySegment> allocateAll(int ranks, long bytes) {
        RankRange held = held(ranks);
        return IntStream.range(held.first(), held.first() + held.count())
                .mapToObj(rank -> allocate(rank, bytes))
                .toList();
    }

    /**
     * Allocates memory of a rank's device, aligned to 64 bytes and zeroed, that an arena frees.
     *
     * @param rank 0..n-1
     * @param bytes size in bytes, at least 0
     * @param arena a shared, automatic or global arena; close it before the backend, and not while a call uses the
     *     memory
     * @throws IllegalArgumentException if the arena belongs to one thread
     */
    MemorySegment allocate(int rank, long bytes, Arena arena);

    /**
     * Allocates host memory for fast copies to and from devices, aligned to 64 bytes; its first contents are undefined.
     * If devices have memory of their own it is pinned, which takes long: allocate it once and reuse it.
     *
     * @param bytes size in bytes, at least 0
     * @param arena frees it; must be closed before the backend, and not while something is copied
     */
    default MemorySegment allocateHost(long bytes, Arena arena) {
        return arena.allocate(bytes, 64);
    }

    /**
     * Copies from host memory to a buffer and returns when the device has all bytes. Calls of the backend that run
     * meanwhile do not delay it.
     *
     * @param target device memory, at least as long as the source
     * @param source memory that the calling thread may read; its arena is not closed meanwhile
     */
    void copyToDevice(MemorySegment target, MemorySegment source);

    /**
     * Copies from a buffer to host memory and returns when the host has all bytes. Calls of the backend that run
     * meanwhile do not delay it.
     *
     * @param source device memory, at least as long as the target
     * @param target memory that the calling thread may write; its arena is not closed meanwhile
     */
    void copyToHost(MemorySegment source, MemorySegment target);

    /**
     * Returns why a native segment whose scope is alive cannot be a buffer.
     *
     * @return the end of a sentence that begins with the buffer's name; null if it can be one
     */
    @Nullable
    String refusal(MemorySegment buffer, DataType type);

    /**
     * Prepares a schedule for its runs. It allocates the scratch memory once.
     *
     * @param op the operation; {@link ReduceOp#AVG} is a sum whose result is divided by the number of
     *     ranks
     * @throws IllegalArgumentException if the schedule's element size is not the type's
     */
    Executable prepare(Schedule schedule, DataType type, ReduceOp op);

    /**
     * Returns why NCCL cannot run a collective here. The first answer may take the time of loading NCCL and of making
     * its communicators: seconds.
     *
     * @return one sentence without its end; null if it can
     */
    default @Nullable String refusal(NcclRequest request) {
        return "the backend " + name() + " has no NCCL, which runs on GPUs; name another algorithm than nccl";
    }

    /**
     * Prepares a collective that NCCL runs.
     *
     * @throws UnsupportedOperationException if there is a {@linkplain #refusal(NcclRequest) refusal}
     */
    default Executable prepare(NcclRequest request) {
        throw new UnsupportedOperationException(refusal(request));
    }

    /**
     * Starts updates of values by their gradients, in the memory of their devices. As a run of an {@link Executable},
     * it begins when the runs that were started before have ended, and later runs begin after it.
     *
     * @param updates each of memory of its own
     * @param completion learns when all values are updated, as that of {@link Executable#start} does
     * @throws IllegalArgumentException if memory is not that of the rank's device
     * @throws UnsupportedOperationException if the backend cannot run optimizers
     */
    default void update(List<ParameterUpdate> updates, Completion completion) {
        throw new UnsupportedOperationException("the backend " + name() + " runs no optimizers; use a Java updater");
    }

    /** Returns what executes schedules, as far as the choice of algorithms depends on it. */
    default Platform platform() {
        return new Platform(name(), Execution.CHUNKS, "", "");
    }

    /** Returns what broke the backend for good, such as a device's failure, or null while it works. */
    default @Nullable Throwable failure() {
        return null;
    }

    /**
     * Gathers what the calling thread starts from now on until the group is closed, as ncclGroupStart does: a backend
     * may then launch it together. What is started still takes effect in the order of the starts, and may begin before
     * the group is closed.
     *
     * @return the group, which the same thread closes; no thread waits for a run before that
     * @throws IllegalStateException if the thread has opened a group before
     */
    default Group group() {
        return () -> {};
    }

    /** Starts that are launched together. */
    interface Group extends AutoCloseable {
        /** Launches what is left. Futures of the starts say if that fails. */
        @Override
        void close();
    }

    /** Frees all memory of the backend. */
    @Override
    void close();

    /** Opens backends on the devices of this machine. Providers are found by {@link java.util.ServiceLoader}. */
    interface Provider {
        /** Returns the name of its backends, e.g. {@code cuda}. */
        String name();

        /**
         * Returns the PCI bus id of each device that this process sees, in the order in which the driver counts them.
         *
         * @throws RuntimeException if there is no driver; the message says why
         */
        List<String> busIds();

        /**
         * Opens a backend, which several communicators may share.
         *
         * @param machine the machine that the devices are in; it may have others too
         * @param config the settings
         * @param devices the device of each rank, as the driver counts them; one may have several ranks
         * @throws RuntimeException if there is no driver or a device cannot be used; the message says which and why
         */
        Backend open(Machine machine, Config config, int... devices);
    }
}
