package dev.banyan.cuda;

import dev.banyan.cuda.internal.driver.CudaDevices;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.topology.Routes;

/** Peer access as a machine's description has it. GPUs that it does not name may touch all memory. */
final class MachinePeers implements PeerRule {
    private static final int UNNAMED = -1;

    private final Machine machine;
    private final Routes routes;
    /** The machine's devices in the driver's order. */
    private final int[] index;

    private final boolean storesPassCpus;

    /** @param storesPassCpus whether kernels store to peers behind a CPU, too */
    MachinePeers(Machine machine, boolean storesPassCpus) {
        this.machine = machine;
        this.storesPassCpus = storesPassCpus;
        routes = Routes.of(machine);
        index = CudaDevices.busIds().stream()
                .mapToInt(id -> machine.deviceAt(id).orElse(UNNAMED))
                .toArray();
    }

    @Override
    public boolean allows(int from, int to) {
        return !areNamed(from, to) || !NoPeerAccess.between(machine, index[from], index[to]);
    }

    @Override
    public boolean allowsStores(int from, int to) {
        return allows(from, to)
                && (storesPassCpus
                        || !areNamed(from, to)
                        || !routes.between(index[from], index[to]).passesCpu());
    }

    private boolean areNamed(int from, int to) {
        return index[from] != UNNAMED && index[to] != UNNAMED;
    }
}
