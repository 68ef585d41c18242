package dev.banyan.cli.bench;

import dev.banyan.cli.bench.report.Row;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.CallBuffers;
import dev.banyan.simulate.RangedCosts;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.OtherGpus;
import dev.banyan.study.machine.SwitchRate;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.workload.PredictedExecution;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Lines on the executors of predicted calls and on their assumed constants.
 *
 * @param costs predict calls
 * @param buffers those of the calls
 * @param withoutSwitch whether the costs leave out what a switch combines
 * @param verbose whether assumed constants are named
 */
record ExecutorNotes(
        ChosenMachine chosen, RangedCosts costs, CallBuffers buffers, boolean withoutSwitch, boolean verbose) {
    /** Begins the keys of constants of NCCL's model. */
    private static final String OF_NCCL = "nccl.";
    /** Begin the keys of constants of kernels. */
    private static final List<String> OF_KERNELS = List.of("program.", "exchange.");

    private static final String GRAPHS = "predicted for CUDA graphs of copies and kernels, chunk by chunk";

    /**
     * @param rows of one collective, at least one
     * @param exchanging names of the algorithms for which kernels exchange buffers directly
     * @param inSwitch the algorithms for which a switch adds up or copies
     */
    List<String> ofCalls(List<Row> rows, List<String> exchanging, List<AlgorithmConfig> inSwitch) {
        long programs =
                rows.stream().filter(row -> row.outOfPlace().range() != null).count();
        List<String> lines = new ArrayList<>();
        if (programs == 0) {
            lines.add("# " + GRAPHS + ", without a range" + (verbose ? ", with these constants:" : ""));
            lines.addAll(constants(false));
            lines.addAll(otherExecutor());
            return lines;
        }
        lines.add("# executed by one kernel on each GPU"
                + (programs < rows.size() ? ", rows without a range by a graph of copies and kernels" : "")
                + "; times include " + Numbers.plain(costs.launchUs()) + " us ("
                + Numbers.plain(costs.launchRange().leastUs()) + " to "
                + Numbers.plain(costs.launchRange().mostUs()) + ") until all kernels have begun");
        lines.addAll(exchanges(
                rows.getFirst().call().collective(),
                rows.stream().map(Row::algorithm).collect(Collectors.toSet()),
                exchanging,
                inSwitch));
        lines.add("# a range of Banyan's time goes from all constants at their fast ends to all at their slow ends, and"
                + " mixtures may lie outside; constants without a range, measured or assumed, count as they are"
                + (verbose ? ":" : "; -v prints all, with their sources"));
        lines.addAll(constants(true));
        return lines;
    }

    /**
     * @param algorithms those of a model's gradients, by whether kernels carry out all their calls
     * @param exchanging as for {@link #ofCalls}
     * @param inSwitch those for which a switch adds up
     */
    List<String> ofGradients(
            Map<Boolean, List<AlgorithmConfig>> algorithms, List<String> exchanging, List<AlgorithmConfig> inSwitch) {
        List<String> lines = new ArrayList<>();
        algorithms.forEach((areKernels, each) -> lines.add("# "
                + (algorithms.size() > 1
                        ? each.stream().map(ChoiceText::name).collect(Collectors.joining(", ", "", ": "))
                        : "")
                + (areKernels
                        ? "executed by one kernel on each GPU; those of calls in flight run one after another, without"
                                + " waits between them"
                        : GRAPHS + "; those of calls in flight run at the same time")));
        List<AlgorithmConfig> ofKernels = algorithms.getOrDefault(true, List.of());
        if (!ofKernels.isEmpty()) {
            lines.addAll(exchanges(Collective.ALL_REDUCE, ofKernels, exchanging, inSwitch));
        }
        if (algorithms.containsKey(false)) {
            lines.addAll(otherExecutor());
        }
        if (!algorithms.isEmpty()
                && exchanging.isEmpty()
                && OtherGpus.remark(chosen.machine()).isEmpty()) {
            lines.add("# these times hold for buffers of any allocator");
        }
        if (!algorithms.isEmpty() && OtherGpus.remark(chosen.machine()).isEmpty()) {
            lines.add("# DJL with a process for each GPU makes a call for each gradient"
                    + (otherExecutor().isEmpty()
                            ? ": leave --bucket out, and read the row with all calls in flight"
                            : ", by kernels, which are not predicted here")
                    + "; in one process it sums on one GPU and spreads parameters, which is not predicted");
        }
        return lines;
    }

    private List<String> otherExecutor() {
        return PredictedExecution.remarkOnGraphs(chosen.machine(), costs.usual()).stream()
                .map(remark -> "# " + remark)
                .toList();
    }

    private List<String> exchanges(
            Collective collective,
            Collection<AlgorithmConfig> algorithms,
            List<String> exchanging,
            List<AlgorithmConfig> inSwitch) {
        List<String> lines = new ArrayList<>();
        if (!costs.usual().programSimulator(List.of()).takesExchanges()) {
            return lines;
        }
        if (!inSwitch.isEmpty()) {
            lines.add("# the switch " + (collective.reduces() ? "adds up" : "copies") + " in calls of more than "
                    + PredictedExecution.LINES + " by "
                    + inSwitch.stream().map(ChoiceText::name).collect(Collectors.joining(", "))
                    + (collective == Collective.ALL_REDUCE && isCompared()
                            ? " (rows \"in the switch\" of compare)"
                            : "")
                    + "; no GPU has run these kernels yet");
        } else if (withoutSwitch && chosen.network().switchesReduce()) {
            lines.add("# predicted without the switch, which combines sums and means of 32-bit floats, sums of"
                    + " 16-bit floats, and sums, minima and maxima of 32- and 64-bit integers (those of 64"
                    + " bits are not modelled)");
        }
        if (!exchanging.isEmpty()) {
            String calls = " in calls of more than " + PredictedExecution.LINES + " by " + String.join(", ", exchanging)
                    + ": ";
            lines.add("# kernels "
                    + (buffers == CallBuffers.ALLOCATED
                            ? "exchange buffers directly" + calls
                                    + "their times are of buffers from Communicator.allocateAll; --buffers any has"
                                    + " those of other buffers (as DJL's gradients are), which kernels copy through a"
                                    + " staging buffer"
                            : "copy buffers through a staging buffer" + calls
                                    + "their times "
                                    + (costs.usual().programSimulator(List.of()).takesSwitch()
                                            ? ""
                                            : "are of several processes (those of one process, whose kernels send data"
                                                    + " piece by piece as other algorithms do, are not shown) and ")
                                    + "assume that no copy overlaps a transfer; --buffers allocated has those of"
                                    + " Communicator.allocateAll, without such copies. auto chooses by the times of"
                                    + " allocated buffers, so that another algorithm may be faster here")
                    + ". All other times hold for any buffers. NCCL's kernels for symmetric memory are not modelled");
        }
        if (algorithms.stream().anyMatch(algorithm -> algorithm.algorithm() == AlgorithmChoice.ONE_SHOT)) {
            lines.add("# one-shot: out of place kernels load from the buffers of all others; in place they store to all"
                    + " others, which takes less time for long calls, by the constants");
        }
        return lines;
    }

    private boolean isCompared() {
        return SwitchRate.ofPacking(
                        chosen.network(), AllReducePacking.of(chosen.network()).bound())
                .isPresent();
    }

    /**
     * Returns the constants of Banyan's times; none unless they are wanted.
     *
     * @param ofKernels whether kernels carry out some of the calls
     */
    List<String> constants(boolean ofKernels) {
        return constants(key ->
                !key.startsWith(OF_NCCL) && (ofKernels || OF_KERNELS.stream().noneMatch(key::startsWith)));
    }

    /** Returns the constants of NCCL's model alone under a heading; nothing unless they are wanted. */
    List<String> constantsOfNccl() {
        List<String> lines = constants(key -> key.startsWith(OF_NCCL));
        if (!lines.isEmpty()) {
            lines.addFirst("# constants of NCCL's model beside those of the links:");
        }
        return lines;
    }

    private List<String> constants(Predicate<String> shown) {
        List<String> lines = new ArrayList<>();
        if (verbose) {
            costs.usual().profile().constants().forEach((constant, value) -> {
                if (shown.test(constant.key())) {
                    lines.add("#   " + constant.key() + " " + Numbers.plain(value.value())
                            + (value.isRange()
                                    ? ", from " + Numbers.plain(value.low()) + " to " + Numbers.plain(value.high())
                                    : "")
                            + ": " + value.source());
                }
            });
        }
        return lines;
    }
}
