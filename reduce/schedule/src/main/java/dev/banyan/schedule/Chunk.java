package dev.banyan.schedule;

import java.util.List;

/**
 * An independent piece of a schedule: steps that all work element by element on ranges of one length.
 * No step depends on one of another chunk, so chunks may run at the same time, and a chunk may be cut
 * into shorter ones at any element.
 *
 * @param bytes length of every location of its steps, a positive multiple of the element size
 * @param steps the steps, each after those that it depends on
 */
public record Chunk(long bytes, List<Step> steps) {
    /**
     * @throws IllegalArgumentException if the length is not positive or a step depends on a later one
     */
    public Chunk {
        steps = List.copyOf(steps);
        if (bytes <= 0) {
            throw new IllegalArgumentException("a chunk of " + bytes + " bytes; drop it");
        }
        for (int i = 0; i < steps.size(); i++) {
            for (int before : steps.get(i).after()) {
                if (before < 0 || before >= i) {
                    throw new IllegalArgumentException(
                            "step " + i + " is after step " + before + ", which does not come before it");
                }
            }
        }
    }
}
