package dev.banyan.study.cluster;

import dev.banyan.study.cluster.KeyCosts.KeyCost;
import dev.banyan.study.training.Gradient;
import dev.banyan.study.training.KeyStore;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * The engine sums up each key inside as soon as its gradient is there, whatever the order of calls; the calls of MPI
 * follow one another in that order; each key goes to the devices when it is back. The caller has long handed out the
 * next step, whose layers wait for their own keys alone.
 */
record DepchaStore(KeyCosts costs, CallOrder order) implements KeyStore {
    @Override
    public String name() {
        return Design.DEPCHA.label();
    }

    @Override
    public double[] doneUs(List<Gradient> gradients) {
        double handoverUs = costs.cluster().host().handoverUs();
        double[] summed = new double[gradients.size()];
        double reducing = 0;
        for (int key : asTheyAreReady(gradients)) {
            Gradient gradient = gradients.get(key);
            reducing = Math.max(reducing, gradient.readyUs())
                    + costs.cost(gradient.elements()).leadUs();
            summed[key] = reducing + handoverUs;
        }
        if (costs.cluster().machines() == 1) {
            return summed;
        }
        double[] done = new double[summed.length];
        double chain = 0;
        double broadcasting = 0;
        for (int key : order.keys(summed.length)) {
            KeyCost cost = costs.cost(gradients.get(key).elements());
            chain = Math.max(chain, summed[key]) + handoverUs + cost.acrossUs();
            broadcasting = Math.max(broadcasting, chain + handoverUs) + cost.tailUs();
            done[key] = broadcasting;
        }
        return done;
    }

    /** Returns the order of gradients by readiness; among those that are ready at once, the order of calls holds. */
    private int[] asTheyAreReady(List<Gradient> gradients) {
        return Arrays.stream(order.keys(gradients.size()))
                .boxed()
                .sorted(Comparator.comparingDouble(key -> gradients.get(key).readyUs()))
                .mapToInt(Integer::intValue)
                .toArray();
    }
}
