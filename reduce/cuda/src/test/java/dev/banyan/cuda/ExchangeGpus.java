package dev.banyan.cuda;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.internal.graph.GraphCache;
import dev.banyan.cuda.internal.graph.Moves;
import dev.banyan.cuda.internal.job.JobPeers;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;

/**
 * Emulated GPUs behind NVSwitches, with a communicator over them and one over as many ranks of the host.
 *
 * @param ofRanks the GPU of each rank
 */
record ExchangeGpus(List<Integer> ofRanks, CudaBackend backend, Communicator host, Communicator cuda)
        implements AutoCloseable {
    /** No data in lines; few blocks. */
    static final ProgramSizes SIZES = new ProgramSizes(0, 512, 2, 8);

    /**
     * Begins with GPUs in a process that has used no other ones.
     *
     * @param multicast a command for the emulator, e.g. {@code multicast on}
     */
    static ExchangeGpus of(CudaEmulator emulator, int ranks, AlgorithmChoice algorithm, String multicast) {
        return of(emulator, apart(ranks), algorithm, multicast);
    }

    /** The same with the GPU of each rank. */
    static ExchangeGpus of(CudaEmulator emulator, int[] ofRanks, AlgorithmChoice algorithm, String multicast) {
        emulator.tell("devices " + ofRanks.length + " switched", "capability all 9 0", multicast);
        return of(ofRanks, algorithm, SIZES, FaultClock.STOPPED);
    }

    /** Returns a GPU for each rank. */
    static int[] apart(int ranks) {
        return IntStream.range(0, ranks).toArray();
    }

    /** Returns up to four GPUs for some ranks, at least two of which share one. */
    static int[] shared(int ranks, SplittableRandom random) {
        return random.ints(ranks, 0, random.nextInt(1, Math.min(ranks, 5))).toArray();
    }

    /**
     * The same with GPUs that the emulator knows already.
     *
     * @param ofRanks the GPU of each rank
     */
    static ExchangeGpus of(int[] ofRanks, AlgorithmChoice algorithm, ProgramSizes sizes, LongSupplier clock) {
        return of(ofRanks, algorithm, sizes, clock, JobPeers.ALONE);
    }

    /** The same with memory that all ranks allocate together, as if several processes held them. */
    static ExchangeGpus together(int[] ofRanks, AlgorithmChoice algorithm, ProgramSizes sizes) {
        return of(ofRanks, algorithm, sizes, FaultClock.STOPPED, new PeersOfOneProcess(false));
    }

    /** The same with multicast addresses of that memory. */
    static ExchangeGpus multicasting(CudaEmulator emulator, int ranks, AlgorithmChoice algorithm) {
        emulator.tell("devices " + ranks + " switched", "capability all 9 0", "multicast on");
        return of(apart(ranks), algorithm, SIZES, FaultClock.STOPPED, new PeersOfOneProcess(true));
    }

    private static ExchangeGpus of(
            int[] ofRanks, AlgorithmChoice algorithm, ProgramSizes sizes, LongSupplier clock, JobPeers peers) {
        int ranks = ofRanks.length;
        Machine machine =
                Presets.find(ranks > 8 ? "dgx-2" : "dgx-a100").orElseThrow().subset(apart(ranks));
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                .set(HostBackend.THREADS, 1)
                .build();
        CudaBackend backend = new CudaBackend(
                ofRanks,
                FaultClock.TIMEOUT,
                PeerRule.ALL,
                64 << 20,
                new Tuning(Moves.DEFAULT, GraphCache.MOST_NODES, clock, false, ExecutorChoice.AUTO, sizes, 1, 1),
                peers);
        try {
            return new ExchangeGpus(
                    IntStream.of(ofRanks).boxed().toList(),
                    backend,
                    Communicator.onHost(machine, config),
                    Communicator.create(machine, config, backend));
        } catch (RuntimeException e) {
            backend.close();
            throw e;
        }
    }

    /** Returns a stream of each rank. */
    CallersStreams streams(CudaEmulator emulator) {
        return new CallersStreams(
                emulator, ofRanks.stream().mapToInt(Integer::intValue).toArray());
    }

    /** Returns the number of kernels of a launch. */
    long kernels() {
        return ofRanks.stream().distinct().count();
    }

    @Override
    public void close() {
        cuda.close();
        host.close();
        backend.close();
    }
}
