package dev.banyan.simulate.training;

import dev.banyan.reduce.algorithm.CollectiveAlgorithm;
import dev.banyan.reduce.algorithm.CollectiveRequest;
import dev.banyan.reduce.schedule.Schedule;
import dev.banyan.reduce.type.Collective;
import dev.banyan.simulate.Job;
import dev.banyan.simulate.Simulation;
import dev.banyan.simulate.Simulator;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Every key is an allreduce of its own; all of them are simulated together on the same wires. */
final class ScheduledStore implements KeyStore {
    private final String name;
    private final Simulator simulator;
    private final long chunkBytes;
    private final Function<List<Gradient>, List<CollectiveAlgorithm>> chooser;

    private record Task(CollectiveAlgorithm algorithm, long elements) {}

    /**
     * @param chunkBytes greatest length of a chunk
     * @param chooser what carries each key
     */
    ScheduledStore(
            String name,
            Simulator simulator,
            long chunkBytes,
            Function<List<Gradient>, List<CollectiveAlgorithm>> chooser) {
        this.name = name;
        this.simulator = simulator;
        this.chunkBytes = chunkBytes;
        this.chooser = chooser;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public double[] doneUs(List<Gradient> gradients) {
        List<CollectiveAlgorithm> algorithms = chooser.apply(gradients);
        Map<Task, Schedule> schedules = new HashMap<>();
        List<Job> jobs = new ArrayList<>();
        for (int key = 0; key < gradients.size(); key++) {
            Gradient gradient = gradients.get(key);
            Schedule schedule = schedules.computeIfAbsent(
                    new Task(algorithms.get(key), gradient.elements()), this::schedule);
            jobs.add(new Job(schedule, gradient.readyUs(), List.of()));
        }
        Simulation simulation = simulator.run(jobs);
        double[] done = new double[jobs.size()];
        for (int key = 0; key < done.length; key++) {
            done[key] = simulation.endUs(key);
        }
        return done;
    }

    private Schedule schedule(Task task) {
        return task.algorithm().schedule(new CollectiveRequest(
                Collective.ALL_REDUCE, -1, task.elements(), Gradient.ELEMENT_BYTES, false, chunkBytes));
    }
}
