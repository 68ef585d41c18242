package dev.banyan.cli.bench.rank;

import dev.banyan.cli.input.DeviceList;
import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.output.OptionGroup;
import dev.banyan.config.Config;
import dev.banyan.cuda.internal.driver.CudaDevices;
import dev.banyan.study.text.Names;
import dev.banyan.topology.ThisMachine;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The option that says where calls are measured, and the rule that decides where it is not given. */
public final class BackendOption extends OptionGroup {
    private static final int LEAST_GPUS = 2;

    @Option(
            names = "--backend",
            paramLabel = "host|cuda",
            description = "Where calls are measured: host, virtual devices in host memory, or cuda, GPUs (default: the"
                    + " GPUs of this machine if there are two, or if --devices names one several times; else host).")
    private @Nullable RankBackend backend;

    /**
     * Returns the backend that a name means.
     *
     * @throws IllegalArgumentException if there is none
     */
    public static RankBackend parse(String name) {
        if (name.toLowerCase(Locale.ROOT).equals("sim")) {
            throw new IllegalArgumentException("--backend names what is measured; for times of the simulator take"
                    + " 'banyan predict' or 'banyan tune --predict'");
        }
        return Names.find("backend", Names.of(RankBackend.values(), RankBackend::name), name);
    }

    /** Returns whether the user names a backend. */
    public boolean isGiven() {
        return backend != null;
    }

    /** Returns the backend that calls run on. */
    public RankBackend choose(MachineOptions machine) {
        if (backend != null) {
            return backend;
        }
        DeviceList devices = machine.devices();
        boolean isShared = devices != null && devices.repeated().isPresent();
        int least = isShared ? 1 : LEAST_GPUS;
        // The probe sees GPUs that CUDA_VISIBLE_DEVICES hides from this process.
        return ThisMachine.look() instanceof ThisMachine.Found found
                        && found.machine().size() >= least
                        && CudaDevices.found() >= least
                ? RankBackend.CUDA
                : RankBackend.HOST;
    }

    /**
     * Returns the ranks that calls run on: at least two virtual devices, or GPUs.
     *
     * @param leastGpus number of GPUs that the command needs
     */
    public RankSite open(MachineOptions machine, int leastGpus, Config config) {
        return switch (choose(machine)) {
            case HOST -> new HostSite(machine.choose(2));
            case CUDA -> new CudaSite(machine.chooseGpus(leastGpus), config);
        };
    }

    /**
     * Refuses GPUs for what runs in host memory alone.
     *
     * @param option what asks for it
     */
    public void requireHost(String option) {
        require(
                backend == null || backend == RankBackend.HOST,
                option + " runs in host memory only; leave --backend cuda out");
    }
}
