package dev.banyan.study.cluster;

import dev.banyan.study.cluster.KeyCosts.KeyCost;
import dev.banyan.study.training.Gradient;
import dev.banyan.study.training.KeyStore;
import java.util.Arrays;
import java.util.List;

/**
 * The calling thread waits for a gradient, has it summed up inside, and calls MPI; only then it turns to the next. What
 * MPI brought is handed to the devices, while it does so. It hands out nothing of the next step before it is done with
 * the last key.
 */
record FunnelStore(KeyCosts costs, CallOrder order) implements KeyStore {
    @Override
    public String name() {
        return Design.FUNNEL.label();
    }

    @Override
    public double[] doneUs(List<Gradient> gradients) {
        double handoverUs = costs.cluster().host().handoverUs();
        double caller = 0;
        double devices = 0;
        for (int key : order.keys(gradients.size())) {
            KeyCost cost = costs.cost(gradients.get(key).elements());
            caller = Math.max(caller, gradients.get(key).readyUs()) + handoverUs + cost.leadUs() + cost.acrossUs();
            devices = Math.max(devices, costs.cluster().machines() == 1 ? caller : caller + handoverUs) + cost.tailUs();
        }
        double[] done = new double[gradients.size()];
        Arrays.fill(done, devices);
        return done;
    }
}
