package dev.banyan.trees.packing.program;

import dev.banyan.trees.Partitions;
import dev.banyan.trees.network.Network;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.ojalgo.optimisation.Expression;
import org.ojalgo.optimisation.ExpressionsBasedModel;
import org.ojalgo.optimisation.Optimisation;
import org.ojalgo.optimisation.Variable;

/**
 * The optimum of a symmetric network by another way: one linear program for logical bandwidths y(u,v) between
 * ranks, that flow from u to v and back through forwarders within every arc's capacity, and of which at
 * least tau (|P| - 1) cross every partition P. All partitions are written down, so it is for few ranks only.
 */
final class PartitionProgram {
    private final Network network;
    private final ExpressionsBasedModel model = new ExpressionsBasedModel();
    private final Variable tau = model.addVariable("tau").lower(0).weight(1);
    private final Map<Integer, Variable> logical = new HashMap<>();
    private final Expression[] capacity;

    private PartitionProgram(Network network) {
        this.network = network;
        capacity = new Expression[network.arcs()];
        Arrays.setAll(capacity, arc -> model.addExpression("arc" + arc).upper(network.capacity(arc)));
    }

    /** In units of the network. */
    static double optimum(Network network) {
        PartitionProgram program = new PartitionProgram(network);
        for (int u = 0; u < network.ranks(); u++) {
            for (int v = u + 1; v < network.ranks(); v++) {
                Variable y = program.model.addVariable("y" + u + "," + v).lower(0);
                program.logical.put(u * network.ranks() + v, y);
                program.addFlow(u, v, y);
                program.addFlow(v, u, y);
            }
        }
        Partitions.forEach(network.ranks(), program::addPartition);
        Optimisation.Result result = program.model.maximise();
        if (!result.getState().isOptimal()) {
            throw new IllegalStateException("no optimum: " + result);
        }
        return result.getValue();
    }

    /** As much as y flows from source to sink, through forwarders only. */
    private void addFlow(int source, int sink, Variable y) {
        Expression[] balance = new Expression[network.nodes()];
        for (int node = network.ranks(); node < network.nodes(); node++) {
            balance[node] = model.addExpression("keep" + source + "," + sink + "," + node)
                    .level(BigDecimal.ZERO);
        }
        balance[source] = model.addExpression("sent" + source + "," + sink)
                .level(BigDecimal.ZERO)
                .set(y, 1);
        balance[sink] = model.addExpression("got" + source + "," + sink)
                .level(BigDecimal.ZERO)
                .set(y, -1);
        for (int arc = 0; arc < network.arcs(); arc++) {
            Expression from = balance[network.from(arc)];
            Expression to = balance[network.to(arc)];
            if (from != null && to != null && network.from(arc) != sink && network.to(arc) != source) {
                Variable flow =
                        model.addVariable("f" + source + "," + sink + "," + arc).lower(0);
                from.set(flow, -1);
                to.set(flow, 1);
                capacity[arc].set(flow, 1);
            }
        }
    }

    private void addPartition(int[] part) {
        Expression crossing =
                model.addExpression("P" + Arrays.toString(part)).lower(0).set(tau, 1 - Partitions.count(part));
        logical.forEach((pair, y) -> {
            if (part[pair / part.length] != part[pair % part.length]) {
                crossing.set(y, 1);
            }
        });
    }
}
