package dev.banyan.schedule;

import java.util.ArrayList;
import java.util.List;

/** A byte range that steps of one chunk touch, and what is known of it while they are followed in order. */
final class Cell {
    /** Nothing yet: no term, no step. */
    static final int NONE = -1;

    final Place place;
    /** For messages: how a step calls it. */
    final Location location;
    /** The {@link Terms term} that it holds. */
    int term;
    /** First byte, in the contributing ranks' inputs, of the elements that it holds. */
    long input;
    /** Last step that wrote it. */
    int writer = NONE;
    /** Steps that read it since then. */
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
