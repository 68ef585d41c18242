package dev.banyan.gpuday.pairs;

import dev.banyan.cuda.internal.driver.CudaDevices;
import dev.banyan.cuda.internal.driver.PeerLink;
import dev.banyan.topology.Connection;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.topology.Routes;
import java.util.ArrayList;
import java.util.List;

/**
 * Holds what a probe found against what CUDA says of pairs. NVLink states are believed first, then peer access; CUDA's
 * ranks, of which 0 is the best, decide nothing.
 */
public final class PeerChecks {
    private final List<String> warnings = new ArrayList<>();
    private Machine machine;

    private PeerChecks(Machine machine) {
        this.machine = machine;
    }

    /**
     * Asks CUDA for all pairs.
     *
     * @param gpus the GPU of each device, as CUDA counts them
     * @throws dev.banyan.cuda.type.CudaException if the driver fails
     */
    public static PeerChecks of(Machine machine, List<Integer> gpus) {
        PeerChecks checks = new PeerChecks(machine);
        Routes routes = Routes.of(machine);
        int worstNvLink = -1;
        String worstPair = "";
        int bestPcie = Integer.MAX_VALUE;
        String bestPair = "";
        for (int a = 0; a < machine.size(); a++) {
            for (int b = a + 1; b < machine.size(); b++) {
                PeerLink there = CudaDevices.peer(gpus.get(a), gpus.get(b));
                PeerLink back = CudaDevices.peer(gpus.get(b), gpus.get(a));
                boolean access = there.access() && back.access();
                boolean nvLink = routes.between(a, b).kind() == Connection.Kind.NVLINK;
                String pair = pair(machine, a, b);
                checks.compareAccess(a, b, pair, access, nvLink);
                int rank = Math.max(there.rank(), back.rank());
                if (access && nvLink && rank > worstNvLink) {
                    worstNvLink = rank;
                    worstPair = pair;
                }
                if (access && !nvLink && rank < bestPcie) {
                    bestPcie = rank;
                    bestPair = pair;
                }
            }
        }
        if (worstNvLink >= 0 && bestPcie <= worstNvLink) {
            checks.warnings.add("CUDA ranks " + worstPair + " (" + worstNvLink + "; 0 is the best) no better than "
                    + bestPair + " (" + bestPcie + "), though only the first has NVLink: the states of the NVLinks are"
                    + " believed; see nvidia-smi nvlink -s");
        }
        return checks;
    }

    private void compareAccess(int a, int b, String pair, boolean access, boolean nvLink) {
        boolean refused = NoPeerAccess.between(machine, a, b);
        if (!access && nvLink) {
            warnings.add(
                    pair + " have NVLink, but CUDA grants them no peer access: the link is believed, copies go through"
                            + " the host; see nvidia-smi topo -p2p n, and whether nvidia-fabricmanager runs where there"
                            + " are NVSwitches");
        } else if (access && refused) {
            warnings.add("NVML says that " + pair + " have no peer access, but CUDA grants it: it is not used; see"
                    + " nvidia-smi topo -p2p w");
        } else if (!access && !refused) {
            warnings.add("CUDA grants " + pair + " no peer access, though NVML does not refuse it: it is not used; see"
                    + " nvidia-smi topo -p2p w");
        }
        if (!access && !refused) {
            machine = NoPeerAccess.mark(machine, a, b);
        }
    }

    static String pair(Machine machine, int a, int b) {
        return machine.devices().get(a).name() + "-" + machine.devices().get(b).name();
    }

    /** The machine, which says of all pairs without peer access that they have none. */
    public Machine machine() {
        return machine;
    }

    /** Returns the contradictions, one sentence each. */
    public List<String> warnings() {
        return List.copyOf(warnings);
    }
}
