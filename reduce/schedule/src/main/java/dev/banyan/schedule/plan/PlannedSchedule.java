package dev.banyan.schedule.plan;

import dev.banyan.schedule.Schedule;
import dev.banyan.trees.packing.LogicalLink;
import java.util.List;
import java.util.Objects;

/**
 * The algorithm and the schedule of a call.
 *
 * @param choice one of {@link AlgorithmChoice#scheduled}
 * @param schedule the steps
 * @param links the paths of pairs of ranks that differ from the usual paths, as {@link CostModel} takes them
 */
public record PlannedSchedule(AlgorithmConfig choice, Schedule schedule, List<LogicalLink> links) {
    public PlannedSchedule {
        Objects.requireNonNull(choice, "choice");
        Objects.requireNonNull(schedule, "schedule");
        links = List.copyOf(links);
    }
}
