package dev.banyan.simulate;

import dev.banyan.schedule.Schedule;
import java.util.List;
import java.util.Objects;

/**
 * One collective among several that a simulation runs on the same links.
 *
 * @param schedule what is done
 * @param startUs earliest time at which the host is asked for it, in us, at least 0
 * @param after indices of the jobs that must be done before, each less than the job's own
 * @param delayUs time that must pass after the last of those jobs, in us, at least 0
 */
public record Job(Schedule schedule, double startUs, List<Integer> after, double delayUs) {
    /**
     * @throws IllegalArgumentException if the start or the delay is not a time
     */
    public Job {
        Objects.requireNonNull(schedule, "schedule");
        after = List.copyOf(after);
        if (!(startUs >= 0) || Double.isInfinite(startUs)) {
            throw new IllegalArgumentException("a job starts at " + startUs + " us; it must be a time from 0 on");
        }
        if (!(delayUs >= 0) || Double.isInfinite(delayUs)) {
            throw new IllegalArgumentException("a job is delayed by " + delayUs + " us; it must be a time from 0 on");
        }
    }

    /** A collective that follows others at once. */
    public Job(Schedule schedule, double startUs, List<Integer> after) {
        this(schedule, startUs, after, 0);
    }

    /** A collective that is asked for at the start. */
    public static Job of(Schedule schedule) {
        return new Job(schedule, 0, List.of());
    }
}
