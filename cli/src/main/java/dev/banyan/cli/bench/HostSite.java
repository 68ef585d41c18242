package dev.banyan.cli.bench;

import dev.banyan.reduce.AlgorithmChoice;
import dev.banyan.reduce.Communicator;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;

/** Virtual devices in host memory; each communicator has a backend of its own. */
record HostSite(Machine machine) implements RankSite {
    @Override
    public int ranks() {
        return machine.size();
    }

    @Override
    public Communicator open(AlgorithmChoice algorithm) {
        return Communicators.open(machine, algorithm);
    }

    @Override
    public RankMemory allocate(Arena arena, long bytes) {
        return RankMemory.ofHost(arena, machine.size(), bytes);
    }
}
