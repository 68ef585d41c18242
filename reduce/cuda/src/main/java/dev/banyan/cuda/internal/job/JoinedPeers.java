package dev.banyan.cuda.internal.job;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.memory.CopyLane;
import dev.banyan.cuda.internal.memory.ProgramPieces;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.internal.CloseAll;
import dev.banyan.reduce.internal.processes.Exchange;
import dev.banyan.reduce.internal.processes.Job;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The processes of a job, each of which holds some ranks. */
public final class JoinedPeers implements JobPeers {
    private static final long LOOK_NANOS = 20_000_000;

    private final Job job;
    private final Exchange exchange;
    private final int[] places;
    private final String models;
    private final boolean multicasts;
    private final long timeoutNanos;
    private final boolean triesPeers;
    private final boolean opensBuffers;
    /** The time when this process last asked the kernel whether the others live. */
    private volatile long looked = System.nanoTime();

    /**
     * @param job the processes
     * @param exchange of theirs
     * @param gpus the GPUs of all ranks
     * @param timeoutNanos how long a call may take
     * @param triesPeers whether access to the others' memory is tried before it is used
     * @param opensBuffers whether links carry loads from the others' memory well
     */
    public JoinedPeers(
            Job job, Exchange exchange, JobGpus gpus, long timeoutNanos, boolean triesPeers, boolean opensBuffers) {
        this.job = job;
        this.exchange = exchange;
        places = gpus.places();
        models = gpus.models();
        multicasts = gpus.multicasts();
        this.timeoutNanos = timeoutNanos;
        this.triesPeers = triesPeers;
        this.opensBuffers = opensBuffers;
    }

    @Override
    public Ranks ranks(List<CudaDevice> own) {
        return new Ranks(own, job.firstRank(), places);
    }

    @Override
    public ProgramPieces pieces(
            Ranks ranks, Map<CudaDevice, CopyLane> lanes, Function<CudaDevice, List<CudaDevice>> viewers) {
        return new SharedPieces(ranks, lanes, viewers, exchange, this::processOf, multicasts);
    }

    @Override
    public void tryMemory(Ranks ranks, ProgramPieces pieces) {
        if (triesPeers) {
            new JobTrial(ranks, pieces, exchange, timeoutNanos).run();
        }
    }

    private int processOf(int place) {
        int rank = 0;
        while (places[rank] != place) {
            rank++;
        }
        return job.processOf(rank);
    }

    @Override
    public String models(Set<Integer> own) {
        return models;
    }

    @Override
    public boolean isAlone() {
        return false;
    }

    @Override
    public boolean opensBuffers() {
        return opensBuffers;
    }

    @Override
    public void started(long runs) {
        job.setStarted(runs);
    }

    @Override
    public @Nullable RuntimeException failure(long run, String what) {
        long now = System.nanoTime();
        if (now - looked >= LOOK_NANOS) {
            looked = now;
            job.breakIfLostBefore(run);
        }
        try {
            job.checkUnbroken(what);
            return null;
        } catch (IllegalStateException | CollectiveTimeoutException e) {
            return e;
        }
    }

    @Override
    public void fail() {
        job.fail();
    }

    @Override
    public boolean leave(ProgramPieces pieces) {
        CloseAll all = new CloseAll();
        boolean[] left = new boolean[1];
        all.close(() -> left[0] = job.leave(((SharedPieces) pieces)::closeOthers, timeoutNanos));
        all.close(exchange::close);
        all.close(job::close);
        all.throwFailure();
        return left[0];
    }
}
