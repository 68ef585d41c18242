package dev.banyan.schedule.program;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Step;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Joins and cuts chunks, whose lengths are of no meaning for a result: joined ones have the same steps, and each of
 * their locations begins where the one before ends.
 */
final class ChunkJoin {
    private static final class Open {
        private final List<Step> steps;
        private long bytes;

        Open(Chunk first) {
            steps = first.steps();
            bytes = first.bytes();
        }
    }

    private ChunkJoin() {}

    /** Returns as few chunks as there can be, in the order of their first bytes' chunks. O(locations). */
    static List<Chunk> joined(Schedule schedule) {
        List<Open> all = new ArrayList<>();
        Map<List<Step>, Open> byNextSteps = new HashMap<>();
        for (Chunk chunk : schedule.chunks()) {
            Open open = byNextSteps.remove(chunk.steps());
            if (open == null) {
                open = new Open(chunk);
                all.add(open);
            } else {
                open.bytes += chunk.bytes();
            }
            byNextSteps.put(shifted(open.steps, open.bytes), open);
        }
        return all.stream().map(open -> new Chunk(open.bytes, open.steps)).toList();
    }

    /**
     * Returns a chunk in as few about equal parts as there can be.
     *
     * @param most greatest length of a part in bytes, up to rounding
     * @param unit bytes of which each part but the last has a multiple
     */
    static List<Chunk> cut(Chunk chunk, long most, long unit) {
        long parts = Math.max(1, Math.ceilDiv(chunk.bytes(), most));
        long length = Math.ceilDiv(Math.ceilDiv(chunk.bytes(), parts), unit) * unit;
        List<Chunk> cut = new ArrayList<>();
        for (long start = 0; start < chunk.bytes(); start += length) {
            cut.add(new Chunk(Math.min(length, chunk.bytes() - start), shifted(chunk.steps(), start)));
        }
        return cut;
    }

    private static List<Step> shifted(List<Step> steps, long bytes) {
        return steps.stream()
                .map(step -> new Step(
                        step.sources().stream()
                                .map(source -> shifted(source, bytes))
                                .toList(),
                        shifted(step.target(), bytes),
                        step.after()))
                .toList();
    }

    private static Location shifted(Location location, long bytes) {
        return new Location(location.rank(), location.space(), location.offset() + bytes);
    }
}
