package dev.banyan.schedule.internal.algorithm;

import dev.banyan.schedule.Schedule;

/**
 * Turns a request into a schedule. Implementations are pure: the same request gives an equal schedule. They are
 * immutable and safe for use from any thread. What an implementation computes later and keeps depends only on its
 * constructor's arguments.
 */
public interface CollectiveAlgorithm {
    /** Returns the algorithm's name as the command takes it, e.g. {@code single-tree}. */
    String name();

    /** Returns the number of ranks. */
    int ranks();

    /**
     * Builds the schedule.
     *
     * @throws IllegalArgumentException if the root is not one of the ranks
     */
    Schedule schedule(CollectiveRequest request);
}
