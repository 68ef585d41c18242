package dev.banyan.mpi;

import dev.banyan.config.Config;
import dev.banyan.mpi.MachineMeeting.NoSharedMemoryException;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.CloseAll;
import dev.banyan.reduce.internal.HostMachine;
import dev.banyan.reduce.internal.host.ProcessBackend;
import dev.banyan.reduce.internal.processes.Job;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Allreduces of host memory in which the processes of each machine reduce in memory that they share, so that MPI goes
 * between one process of each machine alone, or is not used at all. Used by one thread at a time.
 */
final class MachineReduction implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MachineReduction.class);
    /** Assumed, not tuned: of several machines' arrays this much at a time stays in cache between the phases. */
    private static final long PIECE_BYTES = 4 << 20;

    private static final int LEADER = 0;

    private final ProcessBackend backend;
    private final Communicator inside;
    /** The leaders of all machines, or all that do not lead. */
    private final MpiProcesses leaders;

    private final boolean leads;
    /** True if there is no other machine. */
    private final boolean isAlone;

    private MachineReduction(Job job, Config config, MpiProcesses all) {
        Duration timeout = config.get(Communicator.TIMEOUT);
        backend = ProcessBackend.join(job, timeout);
        // All else is as it is by default.
        Config own = Config.builder().set(Communicator.TIMEOUT, timeout).build();
        inside = Communicator.create(HostMachine.of("processes", "process", job.processes()), own, backend);
        leads = job.process() == LEADER;
        isAlone = job.processes() == all.size();
        leaders = all.split(leads ? 0 : 1);
    }

    /**
     * Lets the processes of each machine share memory. All processes call it.
     *
     * @param all the processes
     * @param machine those of this machine, of which some machine has several; freed by this method
     * @return null in all processes, with a warning, if some cannot share memory
     */
    static @Nullable MachineReduction create(World world, MpiProcesses all, MpiProcesses machine) {
        Config config = world.config();
        long timeoutNanos = TimeUnit.NANOSECONDS.convert(config.get(Communicator.TIMEOUT));
        Job job;
        try (machine) {
            job = Job.join(machine.rank(), machine.size(), 1, "", timeoutNanos, new MachineMeeting(all, machine));
        } catch (NoSharedMemoryException e) {
            LOG.warn("processes of a machine reduce by MPI, since they cannot share memory: {}", e.getMessage());
            return null;
        }
        try {
            return new MachineReduction(job, config, all);
        } catch (Throwable e) {
            job.abandon();
            throw e;
        }
    }

    /**
     * Reduces an array of each process in place.
     *
     * @param memory of the host, which any thread may access
     */
    void allReduce(MemorySegment memory, long count, DataType type, ReduceOp op) {
        if (isAlone) {
            inside.allReduce(List.of(memory), count, type, op);
            return;
        }
        long most = PIECE_BYTES / type.bytes();
        for (long at = 0; at < count; at += most) {
            long elements = Math.min(most, count - at);
            MemorySegment piece = memory.asSlice(at * type.bytes(), elements * type.bytes());
            inside.run(CollectiveCall.reduce(List.of(piece), elements, type, op).root(LEADER));
            if (leads) {
                leaders.allReduce(piece, elements, type, op);
            }
            inside.run(CollectiveCall.broadcast(List.of(piece), elements, type).root(LEADER));
        }
    }

    /** Leaves the other processes. All processes call it. */
    @Override
    public void close() {
        CloseAll all = new CloseAll();
        all.close(inside::close);
        all.close(backend::close);
        all.close(leaders::close);
        all.throwFailure();
    }
}
