package dev.banyan.dlc;

import org.jspecify.annotations.Nullable;

/**
 * The three phases of an iteration, in us, as means over iterations and workers. An iteration begins when a
 * worker has the last value of the one before, and ends when it has the last of its own. Computation ends with
 * the last gradient's push. Communication goes on while any key is between its push and the end of its pull.
 *
 * @param iterations iterations of single workers that were taken: those whose beginning and end are known
 * @param computationUs only computation
 * @param overlapUs both
 * @param communicationUs only communication
 */
public record Phases(int iterations, double computationUs, double overlapUs, double communicationUs) {
    /** Share of the communication that computation hides, 0..1; null without communication. */
    public @Nullable Double overlapRatio() {
        double communicating = overlapUs + communicationUs;
        return communicating > 0 ? overlapUs / communicating : null;
    }

    /** Time of an iteration. */
    public double iterationUs() {
        return computationUs + overlapUs + communicationUs;
    }
}
