package dev.banyan.cuda;

import dev.banyan.reduce.backend.Backend;
import dev.banyan.schedule.plan.Config;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;

/** Opens CUDA backends for communicators. */
public final class CudaBackendProvider implements Backend.Provider {
    @Override
    public String name() {
        return "cuda";
    }

    @Override
    public Backend open(Machine machine, Config config, int... devices) {
        return new CudaBackend(
                devices,
                config.timeout(),
                config.gpuPeerAccess() ? peerRule(machine) : PeerRule.NONE,
                config.bufferLimit());
    }

    private static PeerRule peerRule(Machine machine) {
        int[] index = CudaDevices.busIds().stream()
                .mapToInt(id -> machine.deviceAt(id).orElse(-1))
                .toArray();
        return (from, to) -> index[from] < 0 || index[to] < 0 || !NoPeerAccess.between(machine, index[from], index[to]);
    }
}
