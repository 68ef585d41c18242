package dev.banyan.schedule;

import java.util.Objects;

/**
 * The place where a step reads or writes. The length is that of the {@link Chunk}.
 *
 * @param rank the rank whose memory it is, 0..n-1
 * @param space the kind of memory
 * @param offset first byte, a multiple of the schedule's element size
 */
public record Location(int rank, Space space, long offset) {
    public Location {
        Objects.requireNonNull(space, "space");
        if (rank < 0 || offset < 0) {
            throw new IllegalArgumentException("rank " + rank + " and offset " + offset + " must not be negative");
        }
    }
}
