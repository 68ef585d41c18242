package dev.banyan.study.workload;

import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.study.machine.OtherGpus;
import dev.banyan.study.text.ByteSize;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Routes;
import dev.banyan.topology.internal.peer.RefusedPairs;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The executor for which the simulator predicts calls on a machine.
 *
 * @param execution by programs or by chunks
 * @param exchanging the algorithms for which kernels exchange buffers directly
 * @param remark says that GPUs would not run what is predicted, in one sentence; empty where they would
 */
public record PredictedExecution(Execution execution, List<AlgorithmConfig> exchanging, Optional<String> remark) {
    /** The size of the longest calls that go in lines: none of these is an exchange of buffers or takes a switch. */
    public static final String LINES = new ByteSize(ProgramSizes.DEFAULT.lowLatencyBytes()).label();

    private static final long BYTES = 1 << 20;

    /** Returns that of packed trees. */
    public static PredictedExecution ofPacking(Machine machine, SimulatedCosts costs) {
        return of(machine, List.of(AlgorithmConfig.of(AlgorithmChoice.PACKING)), costs, false);
    }

    /**
     * Returns that of allreduces by most of some algorithms.
     *
     * @param algorithms at least one, none of them NCCL
     * @param costs the simulator of the machine
     * @param inPlace whether the calls are in place
     */
    public static PredictedExecution of(
            Machine machine, List<AlgorithmConfig> algorithms, SimulatedCosts costs, boolean inPlace) {
        Map<AlgorithmConfig, PlannedSchedule> plans = new LinkedHashMap<>();
        for (AlgorithmConfig algorithm : algorithms) {
            plans.put(
                    algorithm,
                    Predictions.of(machine, algorithm, costs)
                            .plan(Predictions.request(Collective.ALL_REDUCE, -1, machine.size(), BYTES, inPlace)));
        }
        long programs = plans.values().stream()
                .filter(planned ->
                        costs.program(planned.schedule(), planned.links()).isPresent())
                .count();
        List<AlgorithmConfig> exchanging = plans.entrySet().stream()
                .filter(plan -> costs.exchanges(plan.getValue()))
                .map(Map.Entry::getKey)
                .toList();
        return 2 * programs >= algorithms.size()
                ? new PredictedExecution(Execution.PROGRAMS, exchanging, Optional.empty())
                : new PredictedExecution(Execution.CHUNKS, exchanging, remarkOnGraphs(machine, costs));
    }

    /** Returns which calls have buffers that kernels exchange directly, to follow what all calls have in common. */
    public String buffers() {
        return exchanging.isEmpty()
                ? ""
                : exchanging.stream()
                        .map(ChoiceText::name)
                        .collect(Collectors.joining(
                                ", ",
                                ", those of ",
                                " above " + LINES
                                        + " in buffers of Communicator.allocateAll (banyan predict --buffers any has"
                                        + " those of others)"));
    }

    /** Returns the remark where calls are predicted by chunks. */
    public static Optional<String> remarkOnGraphs(Machine machine, SimulatedCosts costs) {
        return costs.platform().execution() == Execution.PROGRAMS
                        && machine.size() <= SimulatedCosts.MOST_RANKS_OF_PROGRAMS
                        && OtherGpus.remark(machine).isEmpty()
                        && hasPeersAcrossCpus(machine)
                ? Optional.of(
                        "one process that holds all GPUs runs these graphs; several processes run kernels, of which no"
                                + " prediction exists, since nobody has measured how fast kernels write to another GPU"
                                + " through a CPU")
                : Optional.empty();
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
