package dev.banyan.schedule;

import java.util.ArrayList;
import java.util.List;

/**
 * A byte range that steps of one chunk access, with its symbolic contents while the verifier follows the steps in
 * order.
 */
final class Cell {
    /** Stands for no term and no step. */
    static final int NONE = -1;

    final Place place;
    /** The location as a step names it, for messages. */
    final Location location;
    /** The {@link Terms term} that it holds. */
    int term;
    /** First byte, in the contributing ranks' inputs, of the elements that it holds. */
    long input;
    /** Last step that wrote it. */
    int writer = NONE;
    /** Steps that have read it since that write. */
    final List<Integer> readers = new ArrayList<>(2);

    Cell(Place place, Location location, long input) {
        this.place = place;
        this.location = location;
        this.input = input;
        term = input < 0 ? NONE : place.rank();
    }

    boolean isWritten() {
        return writer != NONE;
    }
}
