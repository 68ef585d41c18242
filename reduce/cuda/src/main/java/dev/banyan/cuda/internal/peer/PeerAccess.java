package dev.banyan.cuda.internal.peer;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.cuda.type.PeerRule;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pairs of devices that may touch each other's memory. Access is asked for, enabled and tried pair by pair, when a
 * plan first needs it. Safe for use from any thread.
 */
public final class PeerAccess {
    private static final Logger LOG = LoggerFactory.getLogger(PeerAccess.class);

    private record Pair(int from, int to) {
        @Override
        public String toString() {
            return from + "-" + to;
        }
    }

    /** Sets of pairs of which a warning has said in this process that the driver grants them no access. */
    private static final Set<List<Pair>> REPORTED = ConcurrentHashMap.newKeySet();

    private final Ranks ranks;
    private final PeerRule rule;
    private final PeerTrials trials;
    private final Map<Pair, Boolean> known = new ConcurrentHashMap<>();
    /** Guarded by the lock of this object. */
    private boolean reported;

    /**
     * @param rule between which of them it may be used
     * @param trials enable it and try it
     */
    public PeerAccess(Ranks ranks, PeerRule rule, PeerTrials trials) {
        this.ranks = ranks;
        this.rule = rule;
        this.trials = trials;
    }

    /** Returns whether two ranks are on one device. */
    public boolean sameDevice(int rank, int other) {
        return ranks.get(rank).equals(ranks.get(other));
    }

    /** Returns whether work on the device of one rank may touch memory of the other's. */
    public boolean reaches(int fromRank, int toRank) {
        if (!ranks.holds(fromRank) || !ranks.holds(toRank)) {
            // The memory of other processes is open, or there would be no such ranks.
            return true;
        }
        CudaDevice from = ranks.get(fromRank);
        CudaDevice to = ranks.get(toRank);
        return from.equals(to) || isKnownToReach(from, to);
    }

    private boolean isKnownToReach(CudaDevice from, CudaDevice to) {
        Pair pair = new Pair(from.ordinal(), to.ordinal());
        Boolean reaches = known.get(pair);
        return reaches == null ? find(pair, from, to) : reaches;
    }

    private synchronized boolean find(Pair pair, CudaDevice from, CudaDevice to) {
        Boolean reaches = known.get(pair);
        if (reaches == null) {
            reaches = enable(from, to) && trials.works(from, to);
            known.put(pair, reaches);
        }
        return reaches;
    }

    private boolean enable(CudaDevice from, CudaDevice to) {
        if (!rule.allows(from.ordinal(), to.ordinal())) {
            return false;
        }
        if (isRefused(from, to)) {
            reportRefused();
            return false;
        }
        int result = trials.enable(from, to);
        if (result == CUresult.CUDA_SUCCESS || result == CUresult.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
            return true;
        }
        if (result == CUresult.CUDA_ERROR_NOT_READY) {
            return false;
        }
        if (result == CUresult.CUDA_ERROR_TOO_MANY_PEERS || result == CUresult.CUDA_ERROR_PEER_ACCESS_UNSUPPORTED) {
            warn(from, to, Cuda.name(result));
            return false;
        }
        throw new CudaException("cuCtxEnablePeerAccess from device " + from.ordinal() + " to " + to.ordinal()
                + " failed: " + Cuda.name(result));
    }

    /** Returns whether access may be used by the rule, but the driver does not grant it. */
    private boolean isRefused(CudaDevice from, CudaDevice to) {
        if (!rule.allows(from.ordinal(), to.ordinal())) {
            return false;
        }
        int[] can = new int[1];
        Cuda.check(
                JCudaDriver.cuDeviceCanAccessPeer(can, from.handle(), to.handle()),
                "cuDeviceCanAccessPeer from device " + from.ordinal() + " to " + to.ordinal());
        return can[0] == 0;
    }

    /** Prints one warning that names all pairs of these devices, whichever of them a plan needs. */
    private void reportRefused() {
        if (reported) {
            return;
        }
        reported = true;
        List<CudaDevice> devices = ranks.held().stream()
                .distinct()
                .sorted(Comparator.comparingInt(CudaDevice::ordinal))
                .toList();
        List<Pair> refused = new ArrayList<>();
        for (CudaDevice one : devices) {
            for (CudaDevice other : devices) {
                if (one.ordinal() < other.ordinal() && (isRefused(one, other) || isRefused(other, one))) {
                    refused.add(new Pair(one.ordinal(), other.ordinal()));
                }
            }
        }
        if (REPORTED.add(refused)) {
            LOG.warn(
                    "the driver grants no peer access between the devices {}; data between them goes through the host's"
                            + " memory, which is slower; nvidia-smi topo -p2p r lists the reasons; choose devices or an"
                            + " algorithm that does without these pairs",
                    refused.stream().map(Pair::toString).collect(Collectors.joining(", ")));
        }
    }

    /** Once for both directions. */
    private void warn(CudaDevice from, CudaDevice to, String reason) {
        if (Boolean.FALSE.equals(known.get(new Pair(to.ordinal(), from.ordinal())))) {
            return;
        }
        LOG.warn(
                "no peer access between devices {} and {} ({}); their data goes through the host's memory, which is"
                        + " slower",
                from.ordinal(),
                to.ordinal(),
                reason);
    }
}
