package dev.banyan.schedule;

/**
 * A byte of a rank's memory, the same for every {@link Location} that means it.
 *
 * @param rank whose memory
 * @param buffer which of the rank's buffers; in place, the only one goes by {@link Space#INPUT}
 * @param offset in bytes
 */
record Place(int rank, Space buffer, long offset) implements Comparable<Place> {
    @Override
    public int compareTo(Place other) {
        if (rank != other.rank) {
            return Integer.compare(rank, other.rank);
        }
        return buffer == other.buffer ? Long.compare(offset, other.offset) : buffer.compareTo(other.buffer);
    }

    boolean sharesBufferWith(Place other) {
        return rank == other.rank && buffer == other.buffer;
    }
}
