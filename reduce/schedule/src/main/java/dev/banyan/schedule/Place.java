package dev.banyan.schedule;

/**
 * A byte of a rank's memory; every {@link Location} of the same byte has the same place.
 *
 * @param rank the rank whose memory it is
 * @param buffer the rank's buffer; in place, {@link Space#INPUT} stands for its only buffer
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
