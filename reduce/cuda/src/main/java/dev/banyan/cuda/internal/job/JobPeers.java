package dev.banyan.cuda.internal.job;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.CudaDevices;
import dev.banyan.cuda.internal.memory.CopyLane;
import dev.banyan.cuda.internal.memory.OpenAllocation;
import dev.banyan.cuda.internal.memory.OwnPieces;
import dev.banyan.cuda.internal.memory.ProgramPieces;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.type.CudaException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The processes whose devices take part in the calls of a backend, as one of them sees them. Safe for use from any
 * thread.
 */
public interface JobPeers {
    /** One process, which holds all ranks. */
    JobPeers ALONE = new Alone();

    /**
     * Returns all ranks.
     *
     * @param own the device of each rank of this process
     */
    Ranks ranks(List<CudaDevice> own);

    /**
     * Returns memory for device programs.
     *
     * @param lanes copies to each device
     * @param viewers the devices of this process that may touch a device's memory
     */
    ProgramPieces pieces(Ranks ranks, Map<CudaDevice, CopyLane> lanes, Function<CudaDevice, List<CudaDevice>> viewers);

    /**
     * Proves that the devices of this process reach memory of the others, if they shall; waits for these.
     *
     * @param pieces memory for device programs, to which this adds some
     * @throws CudaException if they do not
     */
    void tryMemory(Ranks ranks, ProgramPieces pieces);

    /**
     * Returns how many devices of which models hold all ranks.
     *
     * @param own the devices of this process, as the driver counts them
     */
    String models(Set<Integer> own);

    /** Returns whether this process holds all ranks. */
    boolean isAlone();

    /** Returns whether kernels of all processes may touch buffers that these allocate together. */
    boolean opensBuffers();

    /** Notes how many runs this process has started. */
    void started(long runs);

    /**
     * Returns why a run cannot end, or null: another process has ended or failed, or has left before it started the
     * run.
     *
     * @param run its number, from 1 on
     * @param what it is, for messages
     */
    @Nullable
    RuntimeException failure(long run, String what);

    /** Reports a failure of this process to the others. */
    void fail();

    /**
     * Leaves the others, and waits for a while until all have left; nothing of this process runs.
     *
     * @param pieces memory of theirs that this process has mapped, and its own
     * @return whether no other process touches memory of this one any more
     */
    boolean leave(ProgramPieces pieces);

    /** See {@link #ALONE}. */
    final class Alone implements JobPeers {
        private Alone() {}

        @Override
        public Ranks ranks(List<CudaDevice> own) {
            return Ranks.of(own);
        }

        @Override
        public ProgramPieces pieces(
                Ranks ranks, Map<CudaDevice, CopyLane> lanes, Function<CudaDevice, List<CudaDevice>> viewers) {
            return new OwnPieces(ranks, lanes, new OpenAllocation(viewers));
        }

        @Override
        public void tryMemory(Ranks ranks, ProgramPieces pieces) {
            // There is nobody else.
        }

        @Override
        public String models(Set<Integer> own) {
            return CudaDevices.counted(own.stream().map(CudaDevices::model));
        }

        @Override
        public boolean isAlone() {
            return true;
        }

        @Override
        public boolean opensBuffers() {
            return false;
        }

        @Override
        public void started(long runs) {
            // There is nobody else.
        }

        @Override
        public @Nullable RuntimeException failure(long run, String what) {
            return null;
        }

        @Override
        public void fail() {
            // There is nobody else.
        }

        @Override
        public boolean leave(ProgramPieces pieces) {
            return true;
        }
    }
}
