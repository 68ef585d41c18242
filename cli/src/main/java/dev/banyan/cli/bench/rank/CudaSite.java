package dev.banyan.cli.bench.rank;

import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.NcclRequest;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** GPUs; all communicators share one backend, so that memory is theirs together. */
public final class CudaSite implements RankSite {
    private final Machine machine;
    private final String gpus;
    private final Backend backend;

    /**
     * @param machine how the ranks are linked
     * @param whole the machine that the GPUs are in
     * @param gpus the GPU of each rank
     */
    public CudaSite(Machine machine, Machine whole, int[] gpus, Config config) {
        this.machine = machine;
        this.gpus = Arrays.toString(gpus);
        backend = Communicator.gpuBackend(whole, config, gpus);
    }

    @Override
    public Machine machine() {
        return machine;
    }

    @Override
    public String devices() {
        return "measured on GPUs " + gpus;
    }

    @Override
    public String place() {
        return machine.name();
    }

    @Override
    public Platform platform() {
        return backend.platform();
    }

    @Override
    public Communicator open(SizeRules rules) {
        return Communicator.create(
                machine, Config.builder().set(Planner.ALGORITHM, rules).load(), backend);
    }

    @Override
    public @Nullable String refusal(NcclRequest request) {
        return backend.refusal(request);
    }

    @Override
    public RankMemory allocate(Arena arena, long bytes) {
        return RankMemory.onGpus(arena, machine.size(), bytes, backend);
    }

    @Override
    public void close() {
        backend.close();
    }
}
