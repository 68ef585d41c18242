package dev.banyan.reduce.internal.sum;

import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.schedule.Schedule;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A backend whose devices run the passes of reproducible sums, between which collectives combine what they write. */
public interface SumPasses {
    /**
     * Prepares a sum in one pass.
     *
     * @param schedule a reduction over all ranks of which each result follows from inputs at once
     * @return empty if devices cannot load from each other
     */
    Optional<OpenSum> prepare(Schedule schedule, ReproducibleSum sum);

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
