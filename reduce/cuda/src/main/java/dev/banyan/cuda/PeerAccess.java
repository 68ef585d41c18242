package dev.banyan.cuda;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which devices may touch each other's memory. Asked for, enabled and tried pair by pair, when a plan first needs it.
 * Safe for use from any thread.
 */
final class PeerAccess {
    private static final Logger LOG = LoggerFactory.getLogger(PeerAccess.class);

    private record Pair(int from, int to) {}

    private final List<CudaDevice> ranks;
    private final PeerRule rule;
    private final PeerTrials trials;
    private final Map<Pair, Boolean> known = new ConcurrentHashMap<>();

    /**
     * @param ranks the device of each rank
     * @param rule between which of them it may be used
     * @param trials enable it and try it
     */
    PeerAccess(List<CudaDevice> ranks, PeerRule rule, PeerTrials trials) {
        this.ranks = ranks;
        this.rule = rule;
        this.trials = trials;
    }

    /** Whether two ranks are on one device. */
    boolean sameDevice(int rank, int other) {
        return ranks.get(rank).equals(ranks.get(other));
    }

    /** Whether work on the device of one rank may touch memory of the other's. */
    boolean reaches(int fromRank, int toRank) {
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
        int[] can = new int[1];
        Cuda.check(
                JCudaDriver.cuDeviceCanAccessPeer(can, from.handle(), to.handle()),
                "cuDeviceCanAccessPeer from device " + from.ordinal() + " to " + to.ordinal());
        if (can[0] == 0) {
            warn(from, to, "the driver says that there is none");
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
