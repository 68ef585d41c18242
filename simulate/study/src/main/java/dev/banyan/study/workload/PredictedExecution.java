package dev.banyan.study.workload;

import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.topology.Connection;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Routes;
import dev.banyan.topology.internal.peer.RefusedPairs;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * The executor for which the simulator predicts packed trees on a machine.
 *
 * @param execution by programs or by chunks
 * @param remark says that GPUs would not run what is predicted, in one sentence; empty where they would
 */
public record PredictedExecution(Execution execution, Optional<String> remark) {
    private static final Set<Connection.Kind> ACROSS_CPUS =
            EnumSet.of(Connection.Kind.PHB, Connection.Kind.NODE, Connection.Kind.SYS);

    private static final long BYTES = 1 << 20;

    /** @param costs the simulator of the machine */
    public static PredictedExecution of(Machine machine, SimulatedCosts costs) {
        PlannedSchedule planned = Predictions.of(machine, AlgorithmConfig.of(AlgorithmChoice.PACKING), costs)
                .plan(Predictions.request(Collective.ALL_REDUCE, -1, machine.size(), BYTES, false));
        if (costs.program(planned.schedule(), planned.links()).isPresent()) {
            return new PredictedExecution(Execution.PROGRAMS, Optional.empty());
        }
        boolean runsKernels = costs.platform().execution() == Execution.PROGRAMS && hasPeersAcrossCpus(machine);
        return new PredictedExecution(
                Execution.CHUNKS,
                runsKernels
                        ? Optional.of("By default Banyan runs kernels here, but how fast they store through a CPU has"
                                + " not been measured: the predicted times are those with BANYAN_CUDA_EXECUTOR=graph")
                        : Optional.empty());
    }

    /** Returns whether all devices have peer access, and some two a CPU between them. */
    private static boolean hasPeersAcrossCpus(Machine machine) {
        Routes routes = Routes.of(machine);
        return !RefusedPairs.any(machine)
                && IntStream.range(0, machine.size())
                        .anyMatch(a -> IntStream.range(0, a)
                                .anyMatch(b -> ACROSS_CPUS.contains(
                                        routes.between(a, b).kind())));
    }
}
