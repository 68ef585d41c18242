package dev.banyan.cuda.internal.job;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.internal.peer.TrialSide;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.reduce.internal.processes.Exchange;
import java.util.ArrayList;
import java.util.List;

/**
 * Tries once whether what kernels store to memory of other processes' devices arrives there, as device programs need
 * it: where the IOMMU or PCIe access control redirects peer-to-peer traffic, other bytes arrive, or none. Each device
 * stores 64 KiB to each device of other processes.
 */
final class IpcTrial {
    /** A trial that is late ends in an exception, so that a busy machine must not make it so. */
    private static final long MOST_NANOS = 30_000_000_000L;

    private static final String REMEDY =
            "turn off PCIe access control (ACS) and the IOMMU, or hold their ranks in one process";

    private final Ranks ranks;
    private final IpcPieces pieces;
    private final Exchange exchange;
    private final long deadlineNanos;

    IpcTrial(Ranks ranks, IpcPieces pieces, Exchange exchange, long timeoutNanos) {
        this.ranks = ranks;
        this.pieces = pieces;
        this.exchange = exchange;
        deadlineNanos = Math.min(timeoutNanos, MOST_NANOS);
    }

    /** @throws CudaException if something else arrives, or nothing in time */
    void run() {
        List<Integer> received = new ArrayList<>();
        for (int place = 0; place < ranks.places(); place++) {
            received.add(pieces.add(place, (long) TrialSide.BYTES * ranks.places(), false));
        }
        pieces.share("joining");
        for (int place = 0; place < ranks.places(); place++) {
            if (ranks.holdsPlace(place)) {
                store(place, received);
            }
        }
        exchange.swap("a trial of peer access", new byte[0]);
        for (int place = 0; place < ranks.places(); place++) {
            if (ranks.holdsPlace(place)) {
                check(place, received.get(place));
            }
        }
    }

    private void store(int from, List<Integer> received) {
        CudaDevice device = ranks.at(from);
        TrialSide side = new TrialSide(device);
        try {
            side.send(from);
            for (int to = 0; to < ranks.places(); to++) {
                if (!ranks.holdsPlace(to)) {
                    side.copyByKernel(
                            pieces.address(received.get(to), device) + (long) from * TrialSide.BYTES, side.sent());
                    await(side, "stores to the device of " + ranks.ranksOf(to));
                }
            }
        } finally {
            side.free();
        }
    }

    private void check(int to, int piece) {
        CudaDevice device = ranks.at(to);
        TrialSide side = new TrialSide(device);
        try {
            for (int from = 0; from < ranks.places(); from++) {
                if (ranks.holdsPlace(from)) {
                    continue;
                }
                side.receive(pieces.address(piece, device) + (long) from * TrialSide.BYTES);
                await(side, "a copy to the host");
                if (!side.holds(from)) {
                    throw new CudaException("peer access from " + ranks.ranksOf(from) + " to " + ranks.ranksOf(to)
                            + " does not work: other bytes arrive than were sent; " + REMEDY);
                }
            }
        } finally {
            side.free();
        }
    }

    private void await(TrialSide side, String what) {
        if (!side.await(System::nanoTime, deadlineNanos)) {
            throw new CudaException(what + " did not end within " + deadlineNanos / 1_000_000 + " ms; " + REMEDY);
        }
    }
}
