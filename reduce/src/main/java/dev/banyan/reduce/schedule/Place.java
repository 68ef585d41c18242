package dev.banyan.reduce.schedule;

import java.util.Comparator;

/**
 * A byte of a rank's memory, the same for every {@link Location} that means it.
 *
 * @param rank whose memory
 * @param buffer which of the rank's buffers; in place, the only one goes by {@link Space#INPUT}
 * @param offset in bytes
 */
record Place(int rank, Space buffer, long offset) implements Comparable<Place> {
    private static final Comparator<Place> ORDER =
            Comparator.comparingInt(Place::rank).thenComparing(Place::buffer).thenComparingLong(Place::offset);

    @Override
    public int compareTo(Place other) {
        return ORDER.compare(this, other);
    }

    boolean sharesBufferWith(Place other) {
        return rank == other.rank && buffer == other.buffer;
    }
}
