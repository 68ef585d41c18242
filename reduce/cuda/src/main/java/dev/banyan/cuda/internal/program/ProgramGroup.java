package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.launch.Gathering;
import dev.banyan.cuda.internal.launch.LaunchQueue;
import dev.banyan.cuda.internal.launch.Place;
import dev.banyan.cuda.type.CudaStreams;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Device programs that one thread starts together. Guarded by the lock of the queue, but for {@link #close}. */
public final class ProgramGroup implements Backend.Group, Gathering {
    private final LaunchQueue queue;
    private final ProgramLauncher launcher;
    private final ProgramBatch batch = new ProgramBatch();
    private List<Completion> completions = new ArrayList<>();
    private @Nullable CudaStreams streams;

    public ProgramGroup(LaunchQueue queue, ProgramLauncher launcher) {
        this.queue = queue;
        this.launcher = launcher;
    }

    /** Adds a call; launches what was gathered first if the call does not go with that. */
    void add(ProgramBatch.Member member, Place place) {
        if (!fits(member, place)) {
            flush();
            boolean _ = fits(member, place);
        }
    }

    private boolean fits(ProgramBatch.Member member, Place place) {
        CudaStreams callers = place.streams();
        if (callers != null && streams != null && !callers.equals(streams)) {
            return false;
        }
        if (!batch.add(member)) {
            return false;
        }
        completions.add(place.completion());
        if (callers != null) {
            streams = callers;
        }
        return true;
    }

    @Override
    public boolean holds(Executable executable) {
        return batch.holds(executable);
    }

    @Override
    public void flush() {
        if (batch.isEmpty()) {
            return;
        }
        List<Completion> all = completions;
        Completion completion = failure -> all.forEach(one -> one.ended(failure));
        CudaStreams callers = streams;
        completions = new ArrayList<>();
        streams = null;
        List<ProgramBatch.Member> members = batch.take();
        try {
            queue.checkLaunchable();
            launcher.start(members, new Place(callers, completion));
        } catch (RuntimeException e) {
            completion.ended(e);
        }
    }

    @Override
    public void close() {
        queue.end(this);
    }
}
