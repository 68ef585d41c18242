package dev.banyan.cuda;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.internal.graph.GraphCache;
import dev.banyan.cuda.internal.graph.Moves;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;

/** Emulated GPUs behind NVSwitches, with a communicator over them and one over as many ranks of the host. */
record ExchangeGpus(CudaBackend backend, Communicator host, Communicator cuda) implements AutoCloseable {
    /** No data in lines; few blocks. */
    static final ProgramSizes SIZES = new ProgramSizes(0, 512, 2, 8);

    /**
     * Begins with GPUs in a process that has used no other ones.
     *
     * @param multicast a command for the emulator, e.g. {@code multicast on}
     */
    static ExchangeGpus of(CudaEmulator emulator, int ranks, AlgorithmChoice algorithm, String multicast) {
        emulator.tell("devices " + ranks + " switched", "capability all 9 0", multicast);
        return of(ranks, algorithm, SIZES, FaultClock.STOPPED);
    }

    /** The same with GPUs that the emulator knows already. */
    static ExchangeGpus of(int ranks, AlgorithmChoice algorithm, ProgramSizes sizes, LongSupplier clock) {
        int[] devices = IntStream.range(0, ranks).toArray();
        Machine machine =
                Presets.find(ranks > 8 ? "dgx-2" : "dgx-a100").orElseThrow().subset(devices);
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                .set(HostBackend.THREADS, 1)
                .build();
        CudaBackend backend = new CudaBackend(
                devices,
                FaultClock.TIMEOUT,
                PeerRule.ALL,
                64 << 20,
                new Tuning(Moves.DEFAULT, GraphCache.MOST_NODES, clock, false, ExecutorChoice.AUTO, sizes, 1, 1));
        try {
            return new ExchangeGpus(
                    backend, Communicator.onHost(machine, config), Communicator.create(machine, config, backend));
        } catch (RuntimeException e) {
            backend.close();
            throw e;
        }
    }

    @Override
    public void close() {
        cuda.close();
        host.close();
        backend.close();
    }
}
