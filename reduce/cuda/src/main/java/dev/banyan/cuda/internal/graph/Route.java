package dev.banyan.cuda.internal.graph;

import dev.banyan.schedule.Location;
import java.util.List;

/**
 * Chunks that go the same way, cut into pieces, each of which has a node of every template. A piece
 * follows the one before it through all of them.
 *
 * @param templates each after those that it depends on
 * @param slots memory of the plan on devices, of which the ring has several
 * @param hostSlots the same in the host's memory; their ranks mean nothing
 * @param pieces in the order in which they are sent
 * @param buffers rank and space of each location
 * @param steps what the steps are, for messages
 */
record Route(
        List<NodeTemplate> templates,
        List<Slot> slots,
        List<Slot> hostSlots,
        List<Piece> pieces,
        List<Location> buffers,
        List<String> steps) {
    /** Memory for one piece. */
    record Slot(int rank, int elementBytes) {}

    /**
     * A piece.
     *
     * @param offsets first byte of each location in its buffer
     */
    record Piece(long elements, List<Long> offsets) {}
}
