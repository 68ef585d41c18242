package dev.banyan.schedule;

import dev.banyan.schedule.type.Collective;

/**
 * The memory that a schedule works on: where each buffer is, which locations are the same bytes, and which bytes are
 * defined at the start. All sizes and offsets are in bytes.
 */
final class Memory {
    private final Schedule schedule;
    private final long blockBytes;

    Memory(Schedule schedule) {
        this.schedule = schedule;
        blockBytes = Math.multiplyExact(schedule.count(), (long) schedule.elementBytes());
        Math.multiplyExact(blockBytes, (long) schedule.ranks());
    }

    /** Returns the bytes of {@code count} elements. */
    long blockBytes() {
        return blockBytes;
    }

    private boolean hasInput(int rank) {
        return schedule.collective() != Collective.BROADCAST || rank == schedule.root();
    }

    private boolean hasOutput(int rank) {
        return schedule.collective() != Collective.REDUCE || rank == schedule.root();
    }

    long size(int rank, Space space) {
        return switch (space) {
            case INPUT -> hasInput(rank) ? schedule.collective().inputElements(blockBytes, schedule.ranks()) : 0;
            case OUTPUT -> hasOutput(rank) ? schedule.collective().outputElements(blockBytes, schedule.ranks()) : 0;
            case SCRATCH -> schedule.scratchBytes();
        };
    }

    boolean contains(Location location, long bytes) {
        return location.rank() < schedule.ranks()
                && location.offset() <= size(location.rank(), location.space()) - bytes;
    }

    /** Returns the place of a location; locations of the same bytes have the same place. */
    Place place(Location location) {
        boolean aliased = schedule.inPlace() && location.space() != Space.SCRATCH;
        return aliased
                ? new Place(location.rank(), Space.INPUT, schedule.offsetInPlace(location))
                : new Place(location.rank(), location.space(), location.offset());
    }

    /** Returns whether no step may write there, as in an input out of place. */
    boolean isReadOnly(Place place) {
        return !schedule.inPlace() && place.buffer() == Space.INPUT;
    }

    /** Returns the place of the first byte of a rank's space. */
    Place start(int rank, Space space) {
        return place(new Location(rank, space, 0));
    }

    /**
     * Returns the offset of a place in a rank's space.
     *
     * @return -1 if the bytes are not wholly inside
     */
    long offsetIn(Space space, Place place, long bytes) {
        Place start = start(place.rank(), space);
        long offset = place.offset() - start.offset();
        boolean inside = offset >= 0 && offset <= size(place.rank(), space) - bytes;
        return place.buffer() == start.buffer() && inside ? offset : -1;
    }
}
