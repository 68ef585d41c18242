package dev.banyan.schedule;

import java.util.ArrayList;
import java.util.List;

/**
 * Joins chunks that continue each other: they have the same steps, and each location of one begins where that of the
 * other ends. Schedules cut chunks for links; where the cuts do not matter, a long chunk costs less than many short
 * ones.
 */
public final class ChunkJoin {
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
                if (!continues(steps.get(s), next.get(s))) {
                    return false;
                }
            }
            return true;
        }

        private boolean continues(Step step, Step next) {
            List<Location> sources = step.sources();
            List<Location> nextSources = next.sources();
            if (!continues(step.target(), next.target()) || sources.size() != nextSources.size()) {
                return false;
            }
            for (int i = 0; i < sources.size(); i++) {
                if (!continues(sources.get(i), nextSources.get(i))) {
                    return false;
                }
            }
            return step.after().equals(next.after());
        }

        private boolean continues(Location location, Location next) {
            return next.offset() == location.offset() + bytes
                    && next.rank() == location.rank()
                    && next.space() == location.space();
        }
    }

    private ChunkJoin() {}

    /**
     * Returns as few chunks as do the same, in the order of their first bytes' chunks. Chunks of several trees may take
     * turns. O(locations) if they do so in the same order again and again; at worst, each chunk is compared with each
     * that is returned.
     */
    public static List<Chunk> joined(List<Chunk> chunks) {
        List<Open> all = new ArrayList<>();
        int next = 0;
        for (Chunk chunk : chunks) {
            int tried = 0;
            // Trees take turns, so that the chunk after the last one is the likely one.
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
