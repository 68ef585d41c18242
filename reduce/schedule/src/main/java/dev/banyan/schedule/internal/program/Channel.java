package dev.banyan.schedule.internal.program;

import java.util.Objects;

/**
 * A way from one move of a lane to another. What the first one has done with a slice, the second one has seen before it
 * begins with that slice.
 *
 * @param from index in the lane of the move that stores, or that comes first
 * @param to index in the lane of the move that waits, on the receiving device; greater than {@code from}
 * @param kind how data goes
 */
public record Channel(int from, int to, Kind kind) {
    /** The transport of data over a channel. */
    public enum Kind {
        /** Into slots on the receiving device, from which the receiver takes it and then gives the slot back. */
        SLOTS,
        /** No data goes; both moves are on one device, and the second one must wait for the first. */
        ORDER
    }

    /** @throws IllegalArgumentException if it leads back */
    public Channel {
        Objects.requireNonNull(kind, "kind");
        if (from < 0 || to <= from) {
            throw new IllegalArgumentException("a channel from move " + from + " to move " + to);
        }
    }
}
