package dev.banyan.mpi;

import dev.banyan.config.Config;
import dev.banyan.mpi.MachineMeeting.NoSharedMemoryException;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.internal.CloseAll;
import dev.banyan.reduce.internal.HostMachine;
import dev.banyan.reduce.internal.host.ProcessBackend;
import dev.banyan.reduce.internal.joining.JoinableBackend;
import dev.banyan.reduce.internal.joining.Joined;
import dev.banyan.reduce.internal.processes.Agreement;
import dev.banyan.reduce.internal.processes.Job;
import dev.banyan.topology.Machine;
import dev.banyan.topology.ThisMachine;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The devices that the processes of each machine hold, which reach each other's memory. Inside a machine, calls do
 * without MPI, and data of GPUs do not pass the host. Between machines one process of each exchanges sums. Used by one
 * thread at a time.
 */
final class MachineDevices implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MachineDevices.class);
    private static final int LEADER = 0;

    private final Backend backend;
    private final Communicator ranks;
    /** The processes that lead, or all others; null if there is no other machine. */
    private @Nullable ProcessGroup peers;
    /** Between leaders; does nothing in other processes. */
    private Between between = (_, _, _, _, _, _) -> CompletableFuture.completedFuture(null);

    private MachineDevices(Joined joined, Config config) {
        backend = joined.backend();
        ranks = Communicator.create(joined.machine(), config, backend);
    }

    /**
     * Joins the devices of each machine. All processes call it.
     *
     * @param all processes of all machines, each with the same number of devices, of one kind
     * @param machine those of this machine; freed by this method
     * @param local the communicator over the devices of this process
     * @param exchange makes what a leader exchanges sums with, from the group of all leaders
     * @return null in all processes, with a warning, if the devices of some machine cannot be joined
     */
    static @Nullable MachineDevices join(
            World world,
            MpiProcesses all,
            MpiProcesses machine,
            Communicator local,
            Function<ProcessGroup, Between> exchange) {
        MachineDevices joined = null;
        RuntimeException failure = null;
        boolean isAlone = machine.size() == all.size();
        boolean leads = machine.rank() == LEADER;
        try (machine) {
            joined = join(all, machine, local);
        } catch (NoSharedMemoryException e) {
            // All processes see this one.
            warn(e);
            return null;
        } catch (RuntimeException e) {
            failure = e;
        }
        if (!all.allHave(joined != null)) {
            if (joined != null) {
                joined.close();
            }
            warn(failure == null ? new IllegalStateException("another process failed; see what it logs") : failure);
            return null;
        }
        MachineDevices devices = Objects.requireNonNull(joined);
        if (!isAlone) {
            ProcessGroup group = ProcessGroup.of(world, all.split(leads ? 0 : 1));
            devices.peers = group;
            devices.between = leads ? exchange.apply(group) : devices.between;
        }
        return devices;
    }

    private static MachineDevices join(MpiProcesses all, MpiProcesses machine, Communicator local) {
        Config config = config(local);
        int ranks = local.size() * machine.size();
        Machine whole = !local.inHostMemory() && ThisMachine.look() instanceof ThisMachine.Found found
                ? found.machine()
                : HostMachine.of(ranks + " devices", "device", ranks);
        Job job = Job.join(
                machine.rank(),
                machine.size(),
                local.size(),
                Agreement.on(whole, config),
                TimeUnit.NANOSECONDS.convert(config.get(Communicator.TIMEOUT)),
                new MachineMeeting(all, machine));
        Joined joined;
        try {
            joined = join(job, whole, local, config);
        } catch (Throwable e) {
            job.abandon();
            throw e;
        }
        try {
            return new MachineDevices(joined, config);
        } catch (Throwable e) {
            job.fail();
            joined.backend().close();
            throw e;
        }
    }

    /** The choice for the devices of one process in host memory need not suit those of all processes. */
    private static Config config(Communicator local) {
        Config given = local.config();
        return local.inHostMemory()
                ? Config.builder()
                        .set(Communicator.TIMEOUT, given.get(Communicator.TIMEOUT))
                        .build()
                : given;
    }

    private static Joined join(Job job, Machine whole, Communicator local, Config config) {
        if (local.inHostMemory()) {
            return new Joined(ProcessBackend.join(job, config.get(Communicator.TIMEOUT)), whole);
        }
        if (local.backend() instanceof JoinableBackend joinable) {
            return joinable.join(job, whole, config);
        }
        throw new IllegalStateException("backends of " + local.backend().name() + " have all ranks in one process");
    }

    private static void warn(RuntimeException reason) {
        LOG.warn(
                "the devices of this machine's processes can't be joined, so that each process reduces the arrays of"
                        + " its own devices first: {}",
                reason.getMessage());
    }

    /**
     * Runs an allreduce of all processes.
     *
     * @param call with the buffers of this process
     */
    void run(CollectiveCall call) {
        if (peers == null) {
            ranks.run(call);
        } else {
            new Pipeline(call, new Phases.OneLeader(ranks, between), Between.Staged.BYTES).run(0, call.count());
        }
    }

    /** Returns whether there is no other machine. */
    boolean isAlone() {
        return peers == null;
    }

    /**
     * Puts allreduces of all processes into streams of the caller, as {@link Communicator#enqueueAll} does. There must
     * be no other machine.
     *
     * @param calls with the buffers of this process
     */
    CompletableFuture<Void> enqueueAll(List<CollectiveCall> calls, CallerStreams streams) {
        return ranks.enqueueAll(calls, streams);
    }

    /** Leaves the other processes. All processes call it. */
    @Override
    public void close() {
        CloseAll all = new CloseAll();
        all.close(ranks::close);
        all.close(backend::close);
        if (peers != null) {
            all.close(peers::close);
        }
        all.throwFailure();
    }
}
