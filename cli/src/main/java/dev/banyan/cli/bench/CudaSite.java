package dev.banyan.cli.bench;

import dev.banyan.reduce.AlgorithmChoice;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.Config;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;

/** GPUs; all communicators share one backend, so that memory is theirs together. */
final class CudaSite implements RankSite, AutoCloseable {
    private final Machine machine;
    private final Backend backend;

    /**
     * @param machine how the ranks are linked
     * @param whole the machine that the GPUs are in
     * @param gpus the GPU of each rank
     */
    CudaSite(Machine machine, Machine whole, int[] gpus, Config config) {
        this.machine = machine;
        backend = Communicator.gpuBackend(whole, config, gpus);
    }

    @Override
    public int ranks() {
        return machine.size();
    }

    @Override
    public Communicator open(AlgorithmChoice algorithm) {
        return Communicator.create(machine, Config.builder().algorithm(algorithm).load(), backend);
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
