package dev.banyan.cli.bench.rank;

import dev.banyan.cli.input.RankedGpus;
import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.NcclRequest;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.study.machine.ChosenMachine;
import java.lang.foreign.Arena;
import org.jspecify.annotations.Nullable;

/** GPUs; all communicators share one backend, so that memory is theirs together. */
public final class CudaSite implements RankSite {
    private final RankedGpus ranked;
    private final Backend backend;

    public CudaSite(RankedGpus ranked, Config config) {
        this.ranked = ranked;
        backend = Communicator.gpuBackend(ranked.chosen().whole(), config, ranked.ordinals());
    }

    @Override
    public ChosenMachine chosen() {
        return ranked.chosen();
    }

    @Override
    public String devices() {
        return "measured on GPUs " + ranked.gpus();
    }

    @Override
    public String place() {
        return machine().name();
    }

    @Override
    public Platform platform() {
        return backend.platform();
    }

    @Override
    public Communicator open(SizeRules rules) {
        return Communicator.create(
                machine(), Config.builder().set(Planner.ALGORITHM, rules).load(), backend);
    }

    @Override
    public @Nullable String refusal(NcclRequest request) {
        return backend.refusal(request);
    }

    @Override
    public RankMemory allocate(Arena arena, long bytes) {
        return RankMemory.onGpus(arena, ranks(), bytes, backend);
    }

    @Override
    public void close() {
        backend.close();
    }
}
