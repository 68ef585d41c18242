package dev.banyan.cuda;

import dev.banyan.config.Config;
import dev.banyan.config.Setting;
import dev.banyan.cuda.internal.driver.CudaDevices;
import dev.banyan.cuda.internal.driver.CudaLibrary;
import dev.banyan.cuda.internal.job.JobGpus;
import dev.banyan.cuda.internal.job.JobPeers;
import dev.banyan.cuda.internal.job.JoinedPeers;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.nccl.internal.NcclLibrary;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.internal.joining.Joined;
import dev.banyan.reduce.internal.joining.JoiningProvider;
import dev.banyan.reduce.internal.processes.Exchange;
import dev.banyan.reduce.internal.processes.Job;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Opens CUDA backends for communicators. */
public final class CudaBackendProvider implements Backend.Provider, JoiningProvider {
    static final Setting<Long> BUFFER_LIMIT = Setting.bytes(
            "BANYAN_BUFFER_LIMIT",
            2 << 20,
            256 << 20,
            "Limits the receive buffers of each rank on its GPU, which all plans of a communicator share.");
    static final Setting<Boolean> PEER_ACCESS = Setting.flag(
            "MXNET_ENABLE_GPU_P2P",
            true,
            "Lets GPUs read each other's memory directly; 0 takes all data between GPUs through the host.");

    static final Setting<Boolean> PEER_TRIAL = Setting.flag(
            "BANYAN_PEER_TRIAL",
            true,
            "Tries once in each process whether two GPUs reach each other's memory before they do; 0 believes the"
                    + " driver.");

    static final Setting<ExecutorChoice> EXECUTOR = Setting.of(
            "BANYAN_CUDA_EXECUTOR",
            "kernel, graph or auto",
            ExecutorChoice::parse,
            ExecutorChoice.AUTO,
            "Runs collectives by one kernel on each GPU, or by graphs of copies; auto takes kernels where all"
                    + " GPUs between which a schedule copies reach each other, but graphs where one process holds all"
                    + " GPUs and a CPU lies between those.");

    static final Setting<Integer> LAUNCH_THREADS = Setting.wholeNumber(
            "BANYAN_CUDA_LAUNCH_THREADS",
            "threads",
            Tuning.FITTING,
            64,
            Tuning.FITTING,
            "Says how many threads launch the kernels of one call at once; 0 takes one for each GPU, but no more than a"
                    + " quarter of the cores.");

    @Override
    public String name() {
        return "cuda";
    }

    @Override
    public List<String> busIds() {
        return CudaDevices.busIds();
    }

    @Override
    public Backend open(Machine machine, Config config, int... devices) {
        return open(machine, config, tuning(config), JobPeers.ALONE, devices);
    }

    private static Backend open(Machine machine, Config config, Tuning tuning, JobPeers jobPeers, int... devices) {
        return new CudaBackend(
                devices,
                config.get(Communicator.TIMEOUT),
                peerRule(machine, config, jobPeers),
                config.get(BUFFER_LIMIT),
                tuning,
                jobPeers);
    }

    private static Tuning tuning(Config config) {
        return (config.get(PEER_TRIAL) ? Tuning.DEFAULT : Tuning.DEFAULT.believing())
                .with(executor(config))
                .withLaunchThreads(config.get(LAUNCH_THREADS))
                .withNcclLibrary(config.find(NcclLibrary.FILE).orElse(null));
    }

    @Override
    public Joined join(Job job, Machine machine, Config config, int... devices) {
        return join(job, machine, config, JobGpus::warnOfSharing, devices);
    }

    /** @param check looks at the GPUs of all processes */
    static Joined join(Job job, Machine machine, Config config, Consumer<JobGpus> check, int... devices) {
        if (executor(config) == ExecutorChoice.GRAPH) {
            // All processes have these settings, so that none waits for another one.
            throw new IllegalStateException("graphs of copies have all ranks in one process; unset"
                    + " BANYAN_CUDA_EXECUTOR=graph and MXNET_ENABLE_GPU_P2P=0, or hold all ranks in one process");
        }
        long timeoutNanos = TimeUnit.NANOSECONDS.convert(config.get(Communicator.TIMEOUT));
        CudaLibrary.load();
        Exchange exchange = new Exchange(job, timeoutNanos);
        try {
            JobGpus gpus = new JobGpus(job, exchange, devices);
            check.accept(gpus);
            Machine ranked = gpus.machine(machine);
            Tuning tuning = tuning(config);
            JoinedPeers jobPeers =
                    new JoinedPeers(job, exchange, gpus, timeoutNanos, tuning.triesPeers(), isJoinedByNvlink(ranked));
            return new Joined(open(machine, config, tuning, jobPeers, devices), ranked);
        } catch (Throwable e) {
            exchange.close();
            throw e;
        }
    }

    /** Loads over PCIe wait for each answer. A process may not see others' GPUs, so the machine's links decide. */
    private static boolean isJoinedByNvlink(Machine machine) {
        LinkMatrix links = LinkMatrix.of(machine);
        for (int a = 0; a < machine.size(); a++) {
            for (int b = 0; b < a; b++) {
                if (links.classOf(a, b) < LinkMatrix.NVLINK || NoPeerAccess.between(machine, a, b)) {
                    return false;
                }
            }
        }
        return machine.size() > 1;
    }

    /** Returns how its backends execute schedules with some settings. */
    public static Execution execution(Config config) {
        return executor(config).execution();
    }

    /** Without peer access there are no programs, so that the choice of algorithms needs not expect them. */
    private static ExecutorChoice executor(Config config) {
        ExecutorChoice set = config.get(EXECUTOR);
        return set == ExecutorChoice.AUTO && !config.get(PEER_ACCESS) ? ExecutorChoice.GRAPH : set;
    }

    /**
     * Copies through CPUs have been measured, stores of kernels have not: the automatic choice is what the model
     * predicts. Several processes have no graphs.
     */
    private static PeerRule peerRule(Machine machine, Config config, JobPeers jobPeers) {
        return config.get(PEER_ACCESS)
                ? new MachinePeers(machine, executor(config) != ExecutorChoice.AUTO || !jobPeers.isAlone())
                : PeerRule.NONE;
    }
}
