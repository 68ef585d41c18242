package dev.banyan.schedule.internal.program;

import dev.banyan.schedule.Schedule;
import java.util.List;
import java.util.Objects;

/**
 * A schedule as lanes of moves.
 *
 * @param schedule what it carries out
 * @param lanes the lanes, between which nothing is ordered
 * @param takesMeans whether every element of the result comes from exactly one move that {@link Move#completes
 *     completes} it, so that means can be taken
 */
public record DeviceProgram(Schedule schedule, List<Lane> lanes, boolean takesMeans) {
    public DeviceProgram {
        Objects.requireNonNull(schedule, "schedule");
        lanes = List.copyOf(lanes);
    }

    /**
     * Returns whether no rank is done before all have begun. The data that a rank waits for last then depends on what
     * every other rank sends.
     */
    public boolean synchronizes() {
        return switch (schedule.collective()) {
            case ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER -> !lanes.isEmpty();
            case REDUCE, BROADCAST -> false;
        };
    }
}
