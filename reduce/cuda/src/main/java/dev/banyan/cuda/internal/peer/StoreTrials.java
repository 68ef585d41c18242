package dev.banyan.cuda.internal.peer;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.CudaDevices;
import dev.banyan.cuda.internal.driver.MappedMemory;
import dev.banyan.cuda.internal.driver.Waiting;
import dev.banyan.cuda.internal.memory.ProgramPieces;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.type.PeerRule;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the pairs of devices whose kernels reach each other's memory as device programs need it, by an exchange of 64
 * KiB and a flag each way. The time counts from when both kernels have begun. Where other work keeps a device busy, so
 * that they have not begun for a while, the pair is tried again when a plan next needs it; what was found counts for
 * the life of the process.
 *
 * <p>Safe for use from any thread; trials of a process follow each other.
 */
public final class StoreTrials implements ProgramReach {
    private static final Logger LOG = LoggerFactory.getLogger(StoreTrials.class);

    private record Pair(int one, int other) {
        static Pair of(CudaDevice a, CudaDevice b) {
            return new Pair(Math.min(a.ordinal(), b.ordinal()), Math.max(a.ordinal(), b.ordinal()));
        }
    }

    private enum Outcome {
        WORKS,
        FAILS,
        /** Other work kept a device busy. */
        OPEN
    }

    /** The outcomes so far; the lock makes trials follow each other. */
    private static final Map<Pair, Outcome> OUTCOMES = new HashMap<>();

    private final Ranks ranks;
    private final PeerRule rule;
    private final ProgramPieces pieces;
    private final boolean tries;
    private final long deadlineNanos;
    private final LongSupplier clock;
    private final Map<CudaDevice, StoreSide> sides = new HashMap<>();
    /** By place, the piece with an area for each place. */
    private final Map<Integer, Integer> areas = new HashMap<>();

    private long exchanges;

    /**
     * @param ranks all ranks, which this process holds
     * @param rule which devices may touch each other's memory
     * @param pieces memory of programs
     * @param timeoutNanos how long a collective may take
     * @param tries whether pairs are tried; else the driver is believed
     * @param clock the time, as {@link System#nanoTime()}
     */
    public StoreTrials(
            Ranks ranks, PeerRule rule, ProgramPieces pieces, long timeoutNanos, boolean tries, LongSupplier clock) {
        this.ranks = ranks;
        this.rule = rule;
        this.pieces = pieces;
        this.tries = tries;
        this.clock = clock;
        deadlineNanos = Math.min(timeoutNanos, PeerTrials.MOST_NANOS);
    }

    /** Returns the devices that may touch a device's mapped memory, which are to have access. */
    public static List<CudaDevice> viewers(CudaDevice owner, List<CudaDevice> devices, PeerRule rule) {
        return devices.stream()
                .filter(device -> device.equals(owner)
                        || (rule.allowsStores(device.ordinal(), owner.ordinal())
                                && MappedMemory.isSupported(owner)
                                && MappedMemory.isSupported(device)
                                && canAccess(device, owner)))
                .toList();
    }

    /**
     * Returns whether there are several ranks, whose devices may all touch the mapped memory of all, other ones over
     * NVLink. Loads over PCIe wait for each answer; such links have no atomic operations.
     *
     * @param ranks the device of each rank
     */
    public static boolean allView(List<CudaDevice> ranks, PeerRule rule) {
        List<CudaDevice> devices = ranks.stream().distinct().toList();
        return ranks.size() > 1
                && devices.stream()
                        .allMatch(owner -> MappedMemory.isSupported(owner)
                                && viewers(owner, devices, rule).size() == devices.size()
                                && devices.stream()
                                        .allMatch(device -> device.equals(owner)
                                                || CudaDevices.haveAtomics(device.ordinal(), owner.ordinal())));
    }

    private static boolean canAccess(CudaDevice from, CudaDevice to) {
        int[] can = new int[1];
        Cuda.check(
                JCudaDriver.cuDeviceCanAccessPeer(can, from.handle(), to.handle()),
                "cuDeviceCanAccessPeer from device " + from.ordinal() + " to " + to.ordinal());
        return can[0] != 0;
    }

    /** Tries all pairs that are not known, up to one that other work keeps from being tried. */
    public void tryAll() {
        for (int rank = 0; rank < ranks.size(); rank++) {
            for (int other = 0; other < rank; other++) {
                if (!reaches(other, rank) && isBusy()) {
                    return;
                }
            }
        }
    }

    @Override
    public boolean reaches(int fromRank, int toRank) {
        CudaDevice from = ranks.get(fromRank);
        CudaDevice to = ranks.get(toRank);
        List<CudaDevice> both = List.of(from, to);
        if (from.equals(to)) {
            return true;
        }
        if (viewers(from, both, rule).size() < 2 || viewers(to, both, rule).size() < 2) {
            return false;
        }
        if (!tries) {
            return true;
        }
        synchronized (OUTCOMES) {
            Outcome outcome = OUTCOMES.get(Pair.of(from, to));
            if (outcome == null) {
                outcome = PeerTrials.isStuck(from, to) ? Outcome.FAILS : exchange(fromRank, toRank);
                if (outcome != Outcome.OPEN) {
                    OUTCOMES.put(Pair.of(from, to), outcome);
                }
            }
            return outcome == Outcome.WORKS;
        }
    }

    private Outcome exchange(int fromRank, int toRank) {
        CudaDevice from = ranks.get(fromRank);
        CudaDevice to = ranks.get(toRank);
        StoreSide near = sides.computeIfAbsent(from, StoreSide::new);
        StoreSide far = sides.computeIfAbsent(to, StoreSide::new);
        if (near.isBusy() || far.isBusy()) {
            return Outcome.OPEN;
        }
        long value = ++exchanges;
        long there = area(toRank, fromRank, from);
        long here = area(fromRank, toRank, from);
        StoreSide.exchange(List.of(near, far), () -> {
            near.launch(from.ordinal(), value, there, here);
            far.launch(to.ordinal(), value, here, there);
        });
        await(() -> (near.hasBegun(value) && far.hasBegun(value)) || !isUnderWay(near, far));
        boolean haveBegun = near.hasBegun(value) && far.hasBegun(value);
        if (haveBegun) {
            await(() -> !isUnderWay(near, far));
        }
        if (isUnderWay(near, far)) {
            near.stop();
            far.stop();
            await(() -> !isUnderWay(near, far));
        }
        if (haveBegun) {
            return outcome(from, near, to, far);
        }
        LOG.info(
                "peer access between devices {} and {} has not been tried, as other work keeps them busy; it will be"
                        + " tried when a plan next needs it",
                from.ordinal(),
                to.ordinal());
        return Outcome.OPEN;
    }

    private static Outcome outcome(CudaDevice from, StoreSide near, CudaDevice to, StoreSide far) {
        if (isUnderWay(near, far)) {
            PeerTrials.noteStuck(
                    from, to, "does not work (stores of kernels do not end)", PeerTrials.REDIRECTION_REMEDY);
            return Outcome.FAILS;
        }
        for (StoreSide side : List.of(near, far)) {
            Cuda.check(
                    side.result(), "a trial of peer access between devices " + from.ordinal() + " and " + to.ordinal());
        }
        boolean works = near.has(to.ordinal()) && far.has(from.ordinal());
        if (!works) {
            LOG.warn(
                    "peer access between devices {} and {} does not work (other bytes arrive than kernels store, or no"
                            + " flag); their data goes through the host's memory, which is slower; {}",
                    from.ordinal(),
                    to.ordinal(),
                    PeerTrials.REDIRECTION_REMEDY);
        }
        return works ? Outcome.WORKS : Outcome.FAILS;
    }

    private static boolean isUnderWay(StoreSide near, StoreSide far) {
        return near.result() == CUresult.CUDA_ERROR_NOT_READY || far.result() == CUresult.CUDA_ERROR_NOT_READY;
    }

    private void await(BooleanSupplier done) {
        Waiting.whileBusy(() -> !done.getAsBoolean(), clock, deadlineNanos);
    }

    /** Returns where one device stores in another one's memory, as a viewer sees it. */
    private long area(int ownerRank, int writerRank, CudaDevice viewer) {
        int place = ranks.place(ownerRank);
        int piece = areas.computeIfAbsent(place, _ -> pieces.add(place, StoreSide.AREA_BYTES * ranks.places(), false));
        return pieces.address(piece, viewer) + StoreSide.AREA_BYTES * ranks.place(writerRank);
    }

    /** Returns whether a trial is not known to have ended. */
    public boolean isBusy() {
        synchronized (OUTCOMES) {
            return sides.values().stream().anyMatch(StoreSide::isBusy);
        }
    }

    /**
     * Frees everything; nothing runs.
     *
     * @return results of the driver
     */
    public List<Integer> free() {
        synchronized (OUTCOMES) {
            List<Integer> results = new ArrayList<>();
            sides.values().forEach(side -> results.addAll(side.free()));
            sides.clear();
            return results;
        }
    }

    /** Forgets what was found, for tests that play a new process. */
    public static void forget() {
        synchronized (OUTCOMES) {
            OUTCOMES.clear();
        }
    }
}
