package dev.banyan.study.cluster;

import dev.banyan.study.cluster.KeyCosts.KeyCost;
import dev.banyan.study.training.Gradient;
import dev.banyan.study.training.KeyStore;
import java.util.Arrays;
import java.util.List;

/**
 * The calling thread hands out a group of keys; each is summed up inside when its gradient is there, and then the
 * helper thread of its communicator calls MPI. Helpers share the NICs, one after another, but not what else a call
 * takes. After the group's barrier the caller hands out the next one, and after the last one the next step.
 */
record ConcumStore(KeyCosts costs, CallOrder order) implements KeyStore {
    @Override
    public String name() {
        return Design.CONCUM.label();
    }

    @Override
    public double[] doneUs(List<Gradient> gradients) {
        HostCosts host = costs.cluster().host();
        boolean networked = costs.cluster().machines() > 1;
        int[] keys = order.keys(gradients.size());
        double caller = 0;
        double reducing = 0;
        double nics = 0;
        double broadcasting = 0;
        for (int first = 0; first < keys.length; first += host.outstanding()) {
            int end = Math.min(first + host.outstanding(), keys.length);
            double[] helpers = new double[host.communicators()];
            double group = caller;
            for (int i = first; i < end; i++) {
                Gradient gradient = gradients.get(keys[i]);
                KeyCost cost = costs.cost(gradient.elements());
                reducing = Math.max(Math.max(caller, gradient.readyUs()), reducing) + cost.leadUs();
                double back = reducing + host.handoverUs();
                if (networked) {
                    int helper = keys[i] % helpers.length;
                    nics = Math.max(Math.max(back, helpers[helper]) + host.handoverUs(), nics) + cost.transferUs();
                    back = nics + cost.restUs();
                    helpers[helper] = back;
                    broadcasting = Math.max(broadcasting, back + host.handoverUs()) + cost.tailUs();
                }
                group = Math.max(group, back);
            }
            caller = group + costs.barrierUs() + host.handoverUs();
        }
        double[] done = new double[keys.length];
        Arrays.fill(done, Math.max(caller, broadcasting));
        return done;
    }
}
