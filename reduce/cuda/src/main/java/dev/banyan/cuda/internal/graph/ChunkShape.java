package dev.banyan.cuda.internal.graph;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.Step;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The way that a chunk takes, whatever bytes it is about. Its locations are numbered in the order of their
 * appearance; locations of one number are the same bytes.
 *
 * @param places rank and space of each location
 * @param steps its steps, on numbers of locations
 */
record ChunkShape(List<Place> places, List<NumberedStep> steps) {
    /** Rank and space of a location. */
    record Place(int rank, Space space) {}

    /** A step on numbers of locations. */
    record NumberedStep(List<Integer> sources, int target, List<Integer> after) {}

    /**
     * A chunk, taken apart.
     *
     * @param locations what is at each number; in place, inputs are outputs
     */
    record Numbered(ChunkShape shape, List<Location> locations) {}

    static Numbered of(Schedule schedule, Chunk chunk) {
        Map<Location, Integer> numbers = new LinkedHashMap<>();
        List<NumberedStep> steps = new ArrayList<>();
        for (Step step : chunk.steps()) {
            List<Integer> sources = new ArrayList<>();
            for (Location source : step.sources()) {
                sources.add(number(schedule.inBuffers(source), numbers));
            }
            steps.add(new NumberedStep(
                    List.copyOf(sources), number(schedule.inBuffers(step.target()), numbers), step.after()));
        }
        List<Place> places = numbers.keySet().stream()
                .map(location -> new Place(location.rank(), location.space()))
                .toList();
        return new Numbered(new ChunkShape(places, List.copyOf(steps)), List.copyOf(numbers.keySet()));
    }

    private static int number(Location location, Map<Location, Integer> numbers) {
        Integer known = numbers.putIfAbsent(location, numbers.size());
        return known == null ? numbers.size() - 1 : known;
    }
}
