package dev.banyan.mpi;

import dev.banyan.config.Config;
import dev.banyan.mpi.MachineMeeting.NoSharedMemoryException;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.internal.CloseAll;
import dev.banyan.reduce.internal.HostMachine;
import dev.banyan.reduce.internal.joining.JoinableBackend;
import dev.banyan.reduce.internal.joining.Joined;
import dev.banyan.reduce.internal.processes.Agreement;
import dev.banyan.reduce.internal.processes.Job;
import dev.banyan.topology.Machine;
import dev.banyan.topology.ThisMachine;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The GPUs that several processes of one machine hold, which reach each other's memory: calls need neither the host nor
 * MPI. Used by one thread at a time.
 */
final class MachineGpus implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MachineGpus.class);

    private final Backend backend;
    private final Communicator ranks;

    private MachineGpus(Joined joined, Config config) {
        backend = joined.backend();
        ranks = Communicator.create(joined.machine(), config, backend);
    }

    /**
     * Joins the GPUs of all processes, if all are on this machine. All processes call it.
     *
     * @param all the processes
     * @param machine those of this machine; freed by this method
     * @param local the communicator over the GPUs of this process
     * @return null in all processes if there are other machines, or, with a warning, if the GPUs cannot be joined
     */
    static @Nullable MachineGpus join(MpiProcesses all, MpiProcesses machine, Communicator local) {
        Config config = local.config();
        Job job;
        Machine whole;
        try (machine) {
            if (machine.size() < all.size()) {
                return null;
            }
            int ranks = local.size() * machine.size();
            whole = ThisMachine.look() instanceof ThisMachine.Found found
                    ? found.machine()
                    : HostMachine.of(ranks + " GPUs", "GPU", ranks);
            job = Job.join(
                    machine.rank(),
                    machine.size(),
                    local.size(),
                    Agreement.on(whole, config),
                    TimeUnit.NANOSECONDS.convert(config.get(Communicator.TIMEOUT)),
                    new MachineMeeting(all, machine));
        } catch (NoSharedMemoryException | IllegalStateException e) {
            // All processes see the same difference of machines or settings.
            warn(e);
            return null;
        }
        MachineGpus joined = null;
        RuntimeException failure = null;
        try {
            if (!(local.backend() instanceof JoinableBackend joinable)) {
                throw new IllegalStateException(
                        "backends of " + local.backend().name() + " have all ranks in one process");
            }
            joined = new MachineGpus(joinable.join(job, whole, config), config);
        } catch (RuntimeException e) {
            job.close();
            failure = e;
        }
        if (all.allHave(joined != null)) {
            return joined;
        }
        if (joined != null) {
            joined.close();
        }
        warn(failure == null ? new IllegalStateException("another process failed; see what it logs") : failure);
        return null;
    }

    private static void warn(RuntimeException reason) {
        LOG.warn("processes of this machine reduce arrays of GPUs by the host: {}", reason.getMessage());
    }

    /** Runs a call of all processes, with the buffers of this process. */
    void run(CollectiveCall call) {
        ranks.run(call);
    }

    /** Leaves the other processes. All processes call it. */
    @Override
    public void close() {
        CloseAll all = new CloseAll();
        all.close(ranks::close);
        all.close(backend::close);
        all.throwFailure();
    }
}
