package dev.banyan.cuda.internal.job;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.Waiting;
import dev.banyan.cuda.internal.memory.ProgramPieces;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.internal.peer.StoreSide;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.reduce.internal.processes.Exchange;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import jcuda.driver.CUresult;

/**
 * Tries once whether what kernels store to memory of other processes' devices arrives there, as device programs need
 * it: where the IOMMU or PCIe access control redirects peer-to-peer traffic, other bytes arrive, or none. Each device
 * exchanges 64 KiB and a flag with each device of other processes.
 */
final class JobTrial {
    /** A trial that is late ends in an exception, so that a busy machine must not make it so. */
    private static final long MOST_NANOS = 30_000_000_000L;

    private static final String REMEDY =
            "turn off PCIe access control (ACS) and the IOMMU, or hold their ranks in one process";

    private final Ranks ranks;
    private final ProgramPieces pieces;
    private final Exchange exchange;
    private final long deadlineNanos;

    JobTrial(Ranks ranks, ProgramPieces pieces, Exchange exchange, long timeoutNanos) {
        this.ranks = ranks;
        this.pieces = pieces;
        this.exchange = exchange;
        deadlineNanos = Math.min(timeoutNanos, MOST_NANOS);
    }

    /** @throws CudaException if something else arrives, or nothing in time */
    void run() {
        List<Integer> areas = new ArrayList<>();
        for (int place = 0; place < ranks.places(); place++) {
            areas.add(pieces.add(place, StoreSide.AREA_BYTES * ranks.places(), false));
        }
        pieces.share("joining");
        Map<Integer, StoreSide> sides = new TreeMap<>();
        try {
            for (int place = 0; place < ranks.places(); place++) {
                if (ranks.holdsPlace(place)) {
                    sides.put(place, new StoreSide(ranks.at(place)));
                }
            }
            // All processes take the pairs in one order, so that no two of them wait for each other.
            for (int one = 0; one < ranks.places(); one++) {
                for (int other = 0; other < one; other++) {
                    if (ranks.holdsPlace(one) != ranks.holdsPlace(other)) {
                        boolean first = ranks.holdsPlace(one);
                        exchange(first ? one : other, first ? other : one, areas, sides);
                    }
                }
            }
        } finally {
            sides.values().forEach(StoreSide::free);
        }
        exchange.swap("a trial of peer access", new byte[0]);
    }

    /** Exchanges bytes between a device of this process and one of another process. */
    private void exchange(int near, int far, List<Integer> areas, Map<Integer, StoreSide> sides) {
        CudaDevice device = ranks.at(near);
        StoreSide side = Objects.requireNonNull(sides.get(near));
        long there = pieces.address(areas.get(far), device) + near * StoreSide.AREA_BYTES;
        long here = pieces.address(areas.get(near), device) + far * StoreSide.AREA_BYTES;
        StoreSide.exchange(List.of(side), () -> side.launch(near, 1, there, here));
        int result = Waiting.until(side::result, System::nanoTime, deadlineNanos);
        String pair = "peer access between " + ranks.ranksOf(near) + " and " + ranks.ranksOf(far) + " of two processes";
        if (result == CUresult.CUDA_ERROR_NOT_READY) {
            side.stop();
            throw new CudaException(
                    pair + " does not work: no flag arrives within " + deadlineNanos / 1_000_000 + " ms; " + REMEDY);
        }
        Cuda.check(result, "a trial of " + pair);
        if (!side.has(far)) {
            throw new CudaException(pair + " does not work: other bytes arrive than were sent; " + REMEDY);
        }
    }
}
