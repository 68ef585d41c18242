package dev.banyan.schedule;

import dev.banyan.schedule.type.Collective;

/**
 * The memory that a schedule works on: what is where, which bytes are one and the same, what is defined at
 * the start. All sizes and offsets in bytes.
 */
final class Memory {
    private final Schedule schedule;
    private final long blockBytes;

    Memory(Schedule schedule) {
        this.schedule = schedule;
        blockBytes = Math.multiplyExact(schedule.count(), (long) schedule.elementBytes());
        Math.multiplyExact(blockBytes, (long) schedule.ranks());
    }

    /** Bytes of {@code count} elements. */
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

    /** The same bytes always have the same place. */
    Place place(Location location) {
        boolean aliased = schedule.inPlace() && location.space() != Space.SCRATCH;
        return aliased
                ? new Place(location.rank(), Space.INPUT, schedule.offsetInPlace(location))
                : new Place(location.rank(), location.space(), location.offset());
    }

    /** Whether no step may write there: an input out of place. */
    boolean isReadOnly(Place place) {
        return !schedule.inPlace() && place.buffer() == Space.INPUT;
    }

    /** Where the first byte of a rank's space is. */
    Place start(int rank, Space space) {
        return place(new Location(rank, space, 0));
    }

    /**
     * Offset of a place in a rank's space.
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
