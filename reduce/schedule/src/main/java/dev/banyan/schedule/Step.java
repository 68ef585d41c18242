package dev.banyan.schedule;

import java.util.List;
import java.util.Objects;

/**
 * One step of a chunk: the target's rank reads the sources, each over one hop, and writes the target.
 * With one source it is a copy. With several it is a reduction, {@code target = ((s0 op s1) op s2)
 * ...}, in this order; 16-bit types are combined in 32-bit and rounded once. The target may be equal to
 * the first source.
 *
 * @param sources the locations that are read, at least one
 * @param target the location that is written
 * @param after indices in the chunk of the steps that must be done before; each less than the step's
 *     own index
 */
public record Step(List<Location> sources, Location target, List<Integer> after) {
    public Step {
        sources = List.copyOf(sources);
        Objects.requireNonNull(target, "target");
        after = List.copyOf(after);
        if (sources.isEmpty()) {
            throw new IllegalArgumentException("a step needs at least one source");
        }
    }

    /** Returns whether it combines several sources. */
    public boolean reduces() {
        return sources.size() > 1;
    }
}
