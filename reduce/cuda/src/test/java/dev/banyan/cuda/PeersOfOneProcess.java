package dev.banyan.cuda;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.job.JobPeers;
import dev.banyan.cuda.internal.memory.CopyLane;
import dev.banyan.cuda.internal.memory.ProgramPieces;
import dev.banyan.cuda.internal.memory.Ranks;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** One process that holds all ranks, with buffers like those of several processes: one emulator sees all its races. */
final class PeersOfOneProcess implements JobPeers {
    private final boolean multicasts;

    /** @param multicasts whether buffers have multicast addresses */
    PeersOfOneProcess(boolean multicasts) {
        this.multicasts = multicasts;
    }

    @Override
    public boolean opensBuffers() {
        return true;
    }

    @Override
    public Ranks ranks(List<CudaDevice> own) {
        return ALONE.ranks(own);
    }

    @Override
    public ProgramPieces pieces(
            Ranks ranks, Map<CudaDevice, CopyLane> lanes, Function<CudaDevice, List<CudaDevice>> viewers) {
        return multicasts ? new MulticastPieces(ranks, lanes, viewers) : ALONE.pieces(ranks, lanes, viewers);
    }

    @Override
    public void tryMemory(Ranks ranks, ProgramPieces pieces) {
        ALONE.tryMemory(ranks, pieces);
    }

    @Override
    public String models(Set<Integer> own) {
        return ALONE.models(own);
    }

    @Override
    public boolean isAlone() {
        return ALONE.isAlone();
    }

    @Override
    public void started(long runs) {
        ALONE.started(runs);
    }

    @Override
    public @Nullable RuntimeException failure(long run, String what) {
        return ALONE.failure(run, what);
    }

    @Override
    public void fail() {
        ALONE.fail();
    }

    @Override
    public boolean leave(ProgramPieces pieces) {
        return ALONE.leave(pieces);
    }
}
