package dev.banyan.reduce.host;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Step;
import java.util.ArrayList;
import java.util.List;

/**
 * Joins chunks that continue each other: they have the same steps, and each location of one begins where that of the
 * other ends. Schedules cut chunks for links; memory has none, and a long loop is faster than many short ones.
 */
final class ChunkRuns {
    private static final class Open {
        final List<Step> steps;
        long bytes;

        Open(Chunk first) {
            steps = first.steps();
            bytes = first.bytes();
        }

        boolean isContinuedBy(List<Step> next) {
            if (next.size() != steps.size()) {
                return false;
            }
            for (int s = 0; s < next.size(); s++) {
                List<Location> sources = steps.get(s).sources();
                List<Location> nextSources = next.get(s).sources();
                if (!continues(steps.get(s).target(), next.get(s).target()) || sources.size() != nextSources.size()) {
                    return false;
                }
                for (int i = 0; i < sources.size(); i++) {
                    if (!continues(sources.get(i), nextSources.get(i))) {
                        return false;
                    }
                }
            }
            return true;
        }

        private boolean continues(Location location, Location next) {
            return next.offset() == location.offset() + bytes
                    && next.rank() == location.rank()
                    && next.space() == location.space();
        }
    }

    private ChunkRuns() {}

    /** Returns longer chunks that do the same. Neighbours of different trees may take turns. */
    static List<Chunk> joined(List<Chunk> chunks) {
        List<Open> all = new ArrayList<>();
        int next = 0;
        for (Chunk chunk : chunks) {
            int tried = 0;
            // Trees take turns, so that the run after the last one is the likely one.
            while (tried < all.size() && !all.get((next + tried) % all.size()).isContinuedBy(chunk.steps())) {
                tried++;
            }
            if (tried < all.size()) {
                next = (next + tried) % all.size();
                all.get(next).bytes += chunk.bytes();
            } else {
                next = all.size();
                all.add(new Open(chunk));
            }
            next++;
        }
        return all.stream().map(open -> new Chunk(open.bytes, open.steps)).toList();
    }
}
