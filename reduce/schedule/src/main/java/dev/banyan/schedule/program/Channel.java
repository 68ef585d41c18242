package dev.banyan.schedule.program;

import dev.banyan.schedule.Location;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A way from one move of a lane to another. What the first one has done with a slice, the second one has seen before it
 * begins with that slice.
 *
 * @param from index in the lane of the move that stores, or that comes first
 * @param to index in the lane of the move that waits, on the receiving device; greater than {@code from}
 * @param kind how data goes
 * @param target where the receiver's own memory gets the data of a {@link Kind#DIRECT direct} channel; else null
 */
public record Channel(int from, int to, Kind kind, @Nullable Location target) {
    /** How data goes over a channel. */
    public enum Kind {
        /** Into slots on the receiving device, from which the receiver takes it and then gives the slot back. */
        SLOTS,
        /** Into the receiver's buffer, once the receiver's kernel runs. */
        DIRECT,
        /** No data goes; both moves are on one device, and the second one must wait for the first. */
        ORDER
    }

    /** @throws IllegalArgumentException if it leads back, or the target does not fit the kind */
    public Channel {
        Objects.requireNonNull(kind, "kind");
        if (from < 0 || to <= from || (target != null) != (kind == Kind.DIRECT)) {
            throw new IllegalArgumentException(
                    "a channel of kind " + kind + " from move " + from + " to move " + to + " with target " + target);
        }
    }
}
