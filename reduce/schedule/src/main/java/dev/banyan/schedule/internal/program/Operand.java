package dev.banyan.schedule.internal.program;

import dev.banyan.schedule.Location;

/** The place that a move loads from or stores to. */
public sealed interface Operand {
    /**
     * Memory of the move's own rank.
     *
     * @param location where the lane's bytes begin; in place, an input is in {@link dev.banyan.schedule.Space#OUTPUT}
     */
    record Local(Location location) implements Operand {}

    /**
     * A channel: as an input its slots, as an output what it leads to.
     *
     * @param channel index in the lane
     */
    record Via(int channel) implements Operand {}
}
