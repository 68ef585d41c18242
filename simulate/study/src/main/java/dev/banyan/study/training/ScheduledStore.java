package dev.banyan.study.training;

import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.internal.algorithm.CollectiveAlgorithm;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Job;
import dev.banyan.simulate.Simulation;
import dev.banyan.simulate.Simulator;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Every part of a key is an allreduce of its own; all of them are simulated together on the same links. The
 * caller's thread queues them one after another, ahead of the gradients where it can.
 */
final class ScheduledStore implements KeyStore {
    private final String name;
    private final Simulator simulator;
    private final long chunkBytes;
    private final Function<List<Gradient>, List<List<Part>>> chooser;

    private record Task(CollectiveAlgorithm algorithm, long elements) {}

    /**
     * @param chunkBytes greatest length of a chunk
     * @param chooser the parts of each key
     */
    ScheduledStore(
            String name, Simulator simulator, long chunkBytes, Function<List<Gradient>, List<List<Part>>> chooser) {
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
        List<List<Part>> parts = chooser.apply(gradients);
        Map<Task, Schedule> schedules = new HashMap<>();
        List<Job> jobs = new ArrayList<>();
        double queued = 0;
        for (int key = 0; key < gradients.size(); key++) {
            for (Part part : parts.get(key)) {
                queued += part.queueUs();
                jobs.add(new Job(
                        schedules.computeIfAbsent(new Task(part.algorithm(), part.elements()), this::schedule),
                        Math.max(queued, gradients.get(key).readyUs()),
                        List.of()));
            }
        }
        Simulation simulation = simulator.run(jobs);
        double[] done = new double[gradients.size()];
        int job = 0;
        for (int key = 0; key < done.length; key++) {
            for (int part = 0; part < parts.get(key).size(); part++) {
                done[key] = Math.max(done[key], simulation.endUs(job++));
            }
        }
        return done;
    }

    private Schedule schedule(Task task) {
        return task.algorithm()
                .schedule(new CollectiveRequest(
                        Collective.ALL_REDUCE, -1, task.elements(), Gradient.ELEMENT_BYTES, false, chunkBytes));
    }
}
