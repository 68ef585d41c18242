package dev.banyan.schedule.algorithm;

import dev.banyan.schedule.Schedule;

/**
 * Turns a request into a schedule. Implementations are pure: the same request gives an equal schedule.
 * They are immutable and safe for use from any thread; what one makes late, once, and keeps depends on
 * nothing but its constructor's arguments.
 */
public interface CollectiveAlgorithm {
    /** The algorithm's name as the command takes it, e.g. {@code single-tree}. */
    String name();

    /** Number of ranks that it was made for. */
    int ranks();

    /**
     * Builds the schedule.
     *
     * @throws IllegalArgumentException if the root is not one of the ranks
     */
    Schedule schedule(CollectiveRequest request);
}
