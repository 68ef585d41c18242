package dev.banyan.schedule;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds byte ranges that overlap but are not the same cell of one chunk, of which at least one is written. No
 * dependency orders their steps, or they do not work element by element.
 */
final class OverlapCheck {
    private final Memory memory;
    private final List<Region> regions = new ArrayList<>();

    OverlapCheck(Memory memory) {
        this.memory = memory;
    }

    void add(int chunk, long bytes, Cell cell) {
        if (!memory.isReadOnly(cell.place)) {
            regions.add(new Region(cell.place, bytes, chunk, cell.location, cell.isWritten()));
        }
    }

    /** Sweeps over all ranges by their start and keeps those that reach furthest so far. */
    void run(Violations violations) {
        regions.sort(Comparator.comparing(Region::start));
        Region furthest = null;
        Region furthestWritten = null;
        for (Region region : regions) {
            Region other = region.written() ? furthest : furthestWritten;
            if (region.overlaps(other)) {
                violations.add(region + " and " + other + " overlap, and " + (region.written() ? region : other)
                        + " is written");
            }
            if (region.reachesBeyond(furthest)) {
                furthest = region;
            }
            if (region.written() && region.reachesBeyond(furthestWritten)) {
                furthestWritten = region;
            }
        }
    }

    private record Region(Place start, long bytes, int chunk, Location location, boolean written) {
        private long end() {
            return start.offset() + bytes;
        }

        boolean overlaps(@Nullable Region earlier) {
            return earlier != null && start.sharesBufferWith(earlier.start) && earlier.end() > start.offset();
        }

        boolean reachesBeyond(@Nullable Region earlier) {
            return earlier == null || !start.sharesBufferWith(earlier.start) || end() > earlier.end();
        }

        @Override
        public String toString() {
            return SchedulePrinter.print(location, bytes) + " of chunk " + chunk;
        }
    }
}
