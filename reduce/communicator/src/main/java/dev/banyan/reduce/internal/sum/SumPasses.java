package dev.banyan.reduce.internal.sum;

import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.Completion;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A backend whose devices run the passes of reproducible sums, between which collectives combine what they write. */
public interface SumPasses {
    /**
     * Starts passes of equal stage behind what was started before, as {@link
     * dev.banyan.reduce.backend.Executable#start} does.
     *
     * @param passes for ranks of this process
     * @param streams streams of the caller, or null
     * @param completion learns of their end, unless this method throws
     */
    void start(List<SumPass> passes, @Nullable CallerStreams streams, Completion completion);
}
