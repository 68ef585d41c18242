package dev.banyan.mpi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * An allreduce that was started and takes no thread: it goes on while somebody asks for it, and while other calls of
 * MPI are made. Safe for use from any thread.
 */
public final class StartedReduction {
    private static final long LONGEST_PARK_NANOS = TimeUnit.MICROSECONDS.toNanos(200);

    private final World world;
    private final String what;
    private final MemorySegment request = Arena.ofAuto().allocate(ADDRESS);
    private final MemorySegment flag = Arena.ofAuto().allocate(JAVA_INT);

    @SuppressWarnings("unused") // keeps it
    private final MemorySegment buffer;

    private boolean done;

    /**
     * @param what what is done, for messages
     * @param buffer what MPI reads and writes
     */
    StartedReduction(World world, String what, MemorySegment buffer) {
        this.world = world;
        this.what = what;
        this.buffer = buffer;
    }

    /** Where MPI leaves what it is known by. */
    MemorySegment request() {
        return request;
    }

    /**
     * Whether it has ended; lets it go on if not.
     *
     * @throws MpiException if it failed; the world is broken then
     */
    public synchronized boolean test() {
        if (!done) {
            world.checkUsable();
            try {
                world.mpi().call(MpiCall.TEST, request, flag, MemorySegment.NULL);
            } catch (MpiException e) {
                throw world.failure(what, e);
            }
            done = flag.get(JAVA_INT, 0) != 0;
            if (done) {
                world.underWay().remove(this);
            }
        }
        return done;
    }

    /**
     * Returns when it has ended.
     *
     * @throws CollectiveTimeoutException if that is not within BANYAN_TIMEOUT_MS of this call; the world is broken then
     * @throws MpiException if it failed; the world is broken then
     */
    public void await() {
        long begin = System.nanoTime();
        long patience = TimeUnit.NANOSECONDS.convert(world.config().get(Communicator.TIMEOUT));
        for (long park = 1000; !test(); park = Math.min(2 * park, LONGEST_PARK_NANOS)) {
            if (System.nanoTime() - begin >= patience) {
                throw world.failure(what, new CollectiveTimeoutException("too late"));
            }
            LockSupport.parkNanos(this, park);
        }
    }
}
