package dev.banyan.schedule.plan;

import dev.banyan.config.Bytes;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;

/** Limits the number of chunks of a schedule, each of which takes memory for every link that it crosses. */
final class ChunkLimit {
    private static final long MOST_CHUNKS = 1 << 17;

    private ChunkLimit() {}

    /**
     * Returns a request if its data make few enough chunks.
     *
     * @param ranks number of ranks
     * @throws IllegalArgumentException if there are more; the message names the setting
     */
    static CollectiveRequest checked(CollectiveRequest request, int ranks) {
        long bytes = request.bytes(ranks);
        if (bytes / request.chunkBytes() > MOST_CHUNKS) {
            long least = Math.ceilDiv(bytes, MOST_CHUNKS);
            throw new IllegalArgumentException(Bytes.text(bytes) + " in chunks of " + Bytes.text(request.chunkBytes())
                    + " are more than " + MOST_CHUNKS + " chunks; set " + Planner.CHUNK_BYTES.name()
                    + " or the @CHUNK of "
                    + Planner.ALGORITHM.name() + " to at least " + least + " bytes");
        }
        return request;
    }
}
