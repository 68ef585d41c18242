package dev.banyan.schedule;

/**
 * Something wrong with a schedule.
 *
 * @param chunk index of the chunk, or {@link #NONE} if no single chunk is wrong
 * @param step index of the step in the chunk, or {@link #NONE}
 * @param message what is wrong, with ranks and byte ranges
 */
public record Violation(int chunk, int step, String message) {
    /** Stands for no chunk or no step in particular. */
    public static final int NONE = -1;

    @Override
    public String toString() {
        if (chunk == NONE) {
            return message;
        }
        return "chunk " + chunk + (step == NONE ? "" : ", step " + step) + ": " + message;
    }
}
