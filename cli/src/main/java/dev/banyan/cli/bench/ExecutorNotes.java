package dev.banyan.cli.bench;

import dev.banyan.cli.bench.report.Row;
import dev.banyan.simulate.ProgramSimulator;
import dev.banyan.simulate.RangedCosts;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.text.Numbers;
import dev.banyan.topology.Connection;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Routes;
import dev.banyan.topology.internal.peer.RefusedPairs;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * Lines on the executors of predicted calls and on their assumed constants.
 *
 * @param costs predict calls
 * @param withoutSwitch whether the costs leave out what a switch combines
 */
record ExecutorNotes(ChosenMachine chosen, RangedCosts costs, boolean withoutSwitch) {
    private static final Set<Connection.Kind> ACROSS_CPUS =
            EnumSet.of(Connection.Kind.PHB, Connection.Kind.NODE, Connection.Kind.SYS);

    /**
     * Returns the lines.
     *
     * @param rows of one collective, at least one
     * @param verbose whether assumed constants are named
     */
    List<String> lines(List<Row> rows, boolean verbose) {
        long programs =
                rows.stream().filter(row -> row.outOfPlace().range() != null).count();
        if (programs == 0) {
            String graphs = "# predicted for CUDA graphs of copies and kernels, chunk by chunk, without a range";
            return hasPeersAcrossCpus()
                    ? List.of(
                            graphs,
                            "# (between GPUs with peer access and a CPU between them a kernel of each GPU runs instead,"
                                    + " unless BANYAN_CUDA_EXECUTOR=graph; its stores have not been measured there, so"
                                    + " it is not predicted)")
                    : List.of(graphs);
        }
        List<String> lines = new ArrayList<>();
        lines.add("# executed by one kernel on each GPU"
                + (programs < rows.size() ? ", rows without a range by a graph of copies and kernels" : "")
                + "; times include " + Numbers.plain(costs.launchUs()) + " us ("
                + Numbers.plain(costs.launchRange().leastUs()) + " to "
                + Numbers.plain(costs.launchRange().mostUs()) + ") until all kernels have begun");
        ProgramSimulator kernels = costs.usual().programSimulator(List.of());
        if (kernels.takesExchanges()) {
            if (kernels.takesSwitch()) {
                boolean reduces = rows.getFirst().call().collective().reduces();
                lines.add("# the switch " + (reduces ? "adds up" : "copies")
                        + " for packing and star (compare: packing in the switch); no GPU has run these kernels yet");
            } else if (withoutSwitch && chosen.network().switchesReduce()) {
                lines.add("# predicted without the switch, which combines sums and means of 32-bit floats, sums of"
                        + " 16-bit floats, and sums, minima and maxima of 32- and 64-bit integers (those of 64"
                        + " bits are not modelled)");
            }
            lines.add(
                    "# where kernels exchange buffers directly (packing behind a switch, star, one-shot out of place),"
                        + " these are assumed to be of Communicator.allocateAll; NCCL's kernels for symmetric memory"
                        + " are not modelled");
        }
        lines.add("# ranges of Banyan's times come from constants that nobody measured on such a machine"
                + (verbose ? ":" : "; -v prints them"));
        if (!verbose) {
            return lines;
        }
        costs.usual().profile().constants().forEach((constant, value) -> {
            if (value.isRange()) {
                lines.add("#   " + constant.key() + " " + Numbers.plain(value.value()) + ", from "
                        + Numbers.plain(value.low()) + " to " + Numbers.plain(value.high()) + ": " + value.source());
            }
        });
        return lines;
    }

    /** Returns whether all devices have peer access, and some two a CPU between them. */
    private boolean hasPeersAcrossCpus() {
        Machine machine = chosen.machine();
        Routes routes = Routes.of(machine);
        return !RefusedPairs.any(machine)
                && IntStream.range(0, machine.size())
                        .anyMatch(a -> IntStream.range(0, a)
                                .anyMatch(b -> ACROSS_CPUS.contains(
                                        routes.between(a, b).kind())));
    }
}
