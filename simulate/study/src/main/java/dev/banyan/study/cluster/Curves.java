package dev.banyan.study.cluster;

import dev.banyan.study.training.TrainingStep;
import dev.banyan.study.workload.Workload;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * One model on clusters of all sizes, over all designs.
 *
 * @param label what is different from other curves of the model
 * @param points by size
 */
public record Curves(String label, List<ScalePoint> points) {

    public static Curves of(
            String label, Setup setup, Workload workload, ComputeRate rate, AllReduceRule rule, CallOrder order) {
        TrainingStep step = new TrainingStep(workload.elements(), rate.stepUs());
        List<ScalePoint> points = new ArrayList<>();
        for (int machines : setup.sizes()) {
            KeyCosts costs = setup.costs(machines, rule);
            Map<Design, Double> times = new EnumMap<>(Design.class);
            for (Design design : Design.values()) {
                times.put(design, step.us(design.store(costs, order)));
            }
            double keysUs = workload.elements().stream().mapToDouble(costs::us).sum();
            points.add(new ScalePoint(machines, costs.cluster().gpus(), times, keysUs));
        }
        return new Curves(label, points);
    }

    public Optional<ScalePoint> at(long gpus) {
        return points.stream().filter(point -> point.gpus() == gpus).findFirst();
    }
}
