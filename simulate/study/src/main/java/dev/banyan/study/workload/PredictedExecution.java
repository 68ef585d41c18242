package dev.banyan.study.workload;

import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.study.machine.OtherGpus;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Routes;
import dev.banyan.topology.internal.peer.RefusedPairs;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * The executor for which the simulator predicts calls on a machine.
 *
 * @param execution by programs or by chunks
 * @param buffers says which buffers calls have, where kernels exchange these directly; else empty
 * @param remark says that GPUs would not run what is predicted, in one sentence; empty where they would
 */
public record PredictedExecution(Execution execution, String buffers, Optional<String> remark) {
    private static final long BYTES = 1 << 20;

    /** Returns that of packed trees. */
    public static PredictedExecution ofPacking(Machine machine, SimulatedCosts costs) {
        return of(machine, List.of(AlgorithmConfig.of(AlgorithmChoice.PACKING)), costs);
    }

    /**
     * Returns that of allreduces by most of some algorithms.
     *
     * @param algorithms at least one, none of them NCCL
     * @param costs the simulator of the machine
     */
    public static PredictedExecution of(Machine machine, List<AlgorithmConfig> algorithms, SimulatedCosts costs) {
        long programs = algorithms.stream()
                .filter(algorithm -> isProgram(machine, algorithm, costs))
                .count();
        if (2 * programs >= algorithms.size()) {
            boolean exchanges = costs.programSimulator(List.of()).takesExchanges();
            return new PredictedExecution(
                    Execution.PROGRAMS, exchanges ? " in buffers of Communicator.allocateAll" : "", Optional.empty());
        }
        return new PredictedExecution(Execution.CHUNKS, "", remarkOnGraphs(machine, costs));
    }

    /** Returns the remark where calls are predicted by chunks. */
    public static Optional<String> remarkOnGraphs(Machine machine, SimulatedCosts costs) {
        return costs.platform().execution() == Execution.PROGRAMS
                        && machine.size() <= SimulatedCosts.MOST_RANKS_OF_PROGRAMS
                        && OtherGpus.remark(machine).isEmpty()
                        && hasPeersAcrossCpus(machine)
                ? Optional.of("one process that holds all GPUs runs these graphs; several processes, or"
                        + " BANYAN_CUDA_EXECUTOR=kernel, run kernels instead, of which no prediction exists, since"
                        + " nobody has measured how fast they store through a CPU")
                : Optional.empty();
    }

    private static boolean isProgram(Machine machine, AlgorithmConfig algorithm, SimulatedCosts costs) {
        PlannedSchedule planned = Predictions.of(machine, algorithm, costs)
                .plan(Predictions.request(Collective.ALL_REDUCE, -1, machine.size(), BYTES, false));
        return costs.program(planned.schedule(), planned.links()).isPresent();
    }

    /** Returns whether all devices have peer access, and some two a CPU between them. */
    private static boolean hasPeersAcrossCpus(Machine machine) {
        Routes routes = Routes.of(machine);
        return !RefusedPairs.any(machine)
                && IntStream.range(0, machine.size())
                        .anyMatch(a -> IntStream.range(0, a)
                                .anyMatch(b -> routes.between(a, b).passesCpu()));
    }
}
