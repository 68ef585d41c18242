package dev.banyan.study.diagnosis;

import dev.banyan.simulate.internal.nccl.Protocol;
import dev.banyan.simulate.internal.nccl.Transport;
import dev.banyan.study.measured.ComparedSweep;
import dev.banyan.study.measured.NcclLog;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.topology.internal.peer.RefusedPairs;
import dev.banyan.topology.internal.text.GpuProduct;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Causes of a sweep's speed that the log of NCCL, the models of the GPUs or the machine state. */
final class Causes {
    private final ComparedSweep measured;
    private final Machine machine;
    private final List<String> causes = new ArrayList<>();

    private Causes(ComparedSweep measured) {
        this.measured = measured;
        machine = measured.setting().machine();
    }

    /** Returns the causes, a sentence each with its remedy and without a full stop. */
    static List<String> of(ComparedSweep measured) {
        Causes all = new Causes(measured);
        measured.log().ifPresent(all::logged);
        if (all.causes.isEmpty() && measured.setting().transport() == Transport.HOST) {
            all.forbidden().ifPresentOrElse(model -> all.refused("GPUs of this model (" + model + ")"), all::described);
        }
        all.lostLinks();
        return List.copyOf(all.causes);
    }

    private void refused(String gpus) {
        causes.add("Data go through the host's memory, since NVIDIA's driver allows no peer access between " + gpus
                + "; that limits their speed, and no setting of NCCL changes it");
    }

    private void described() {
        if (!NoPeerAccess.betweenAll(machine)) {
            return;
        }
        if (machine.assumed().contains(RefusedPairs.BY_MODEL)) {
            refused("GeForce cards from series 40 on");
        } else {
            causes.add("Data go through the host's memory, since by the description of " + machine.name()
                    + " no two of these devices have peer access; see whether IOMMU, ACS or the hypervisor are in the"
                    + " way");
        }
    }

    private Optional<String> forbidden() {
        return Stream.concat(
                        measured.run().models().stream(),
                        machine.devices().stream()
                                .map(device -> device.attributes().getOrDefault("model", "")))
                .filter(name -> GpuProduct.of(name)
                        .filter(GpuProduct::refusesPeerAccess)
                        .isPresent())
                .findFirst();
    }

    private void logged(NcclLog log) {
        List<NcclLog.Pair> shared = log.pairs("SHM");
        if (!shared.isEmpty()) {
            causes.add("By the log " + pairs(shared, log) + " through the host's memory (SHM), " + reason(log));
        }
        List<NcclLog.Pair> network = log.pairs("NET");
        if (!network.isEmpty()) {
            causes.add("By the log " + pairs(network, log) + " by the network (NET) inside of one machine, "
                    + ("1".equals(log.settings().get("NCCL_SHM_DISABLE"))
                            ? "since NCCL_SHM_DISABLE=1 is set: unset it"
                            : "as between containers that do not share /dev/shm: start all ranks in one container,"
                                    + " with --ipc=host"));
        }
        boolean expectsReduction = measured.compared().rows().stream()
                .anyMatch(row -> row.predicted().protocol() == Protocol.NVLS);
        if (expectsReduction && "0".equals(log.settings().get("NCCL_NVLS_ENABLE"))) {
            causes.add("By the log or the command NCCL_NVLS_ENABLE=0 is set, which keeps NCCL from reducing in the"
                    + " switch: unset it");
        } else if (expectsReduction && !log.nvls().orElse(true)) {
            causes.add("By the log NCCL cannot reduce in the switch (NVLS multicast is not available), although the"
                    + " switch can: see whether the fabric manager runs and IMEX or the hypervisor allow multicast");
        }
        for (String name : List.of("NCCL_ALGO", "NCCL_PROTO", "NCCL_MAX_NCHANNELS", "NCCL_NTHREADS")) {
            String value = log.settings().get(name);
            if (value != null) {
                causes.add("By the log or the command " + name + "=" + value
                        + " is set, for calls of all sizes: unset it");
            }
        }
    }

    private static String pairs(List<NcclLog.Pair> some, NcclLog log) {
        return (some.size() == log.hops().size() ? "all " : some.size() + " of ")
                + log.hops().size() + " pairs of ranks send";
    }

    private String reason(NcclLog log) {
        String level = log.settings().get("NCCL_P2P_LEVEL");
        if ("1".equals(log.settings().get("NCCL_P2P_DISABLE"))) {
            return "since NCCL_P2P_DISABLE=1 is set: unset it";
        }
        if (level != null && !Set.of("SYS", "5").contains(level)) {
            return "since NCCL_P2P_LEVEL=" + level + " is set, which allows "
                    + (Set.of("LOC", "0").contains(level) ? "no peer access at all" : "peer access no farther")
                    + ": unset it";
        }
        if (!log.disabled().isEmpty()) {
            return "since the driver refuses peer access; see whether IOMMU, ACS or the hypervisor are in the way";
        }
        return forbidden()
                .map(model -> "since NVIDIA's driver allows no peer access between GPUs of this model (" + model
                        + "); no setting of NCCL changes that")
                .orElse("which limits their speed; nvidia-smi topo -p2p r says for which pairs the driver"
                        + " allows peer access, and NCCL_P2P_LEVEL=SYS then uses it between sockets, too");
    }

    /** GPUs without NVLink beside GPUs on an NVSwitch have lost their links. */
    private void lostLinks() {
        List<String> lost = new ArrayList<>();
        for (int device = 0; device < machine.size(); device++) {
            if (!hasFastLink(device)) {
                lost.add(machine.devices().get(device).name() + place(device));
            }
        }
        boolean hasSwitch = machine.links().stream().anyMatch(this::joinsSwitch);
        if (hasSwitch && !lost.isEmpty() && lost.size() < machine.size()) {
            causes.add(String.join(", ", lost) + (lost.size() == 1 ? " has" : " have")
                    + " no NVLink, although the other GPUs have: reset "
                    + (lost.size() == 1 ? "that GPU" : "those GPUs")
                    + " (nvidia-smi --gpu-reset) or restart the machine; until then, and if only the description lacks"
                    + " the links, give NCCL the topology file of a healthy machine by NCCL_TOPO_FILE");
        }
    }

    /** Returns where a device of several hosts is, as its header says; each rank has the device of its number. */
    private String place(int device) {
        return measured.run().hosts().size() < 2
                ? ""
                : measured.run().ranks().stream()
                        .filter(rank -> rank.rank() == device)
                        .map(rank -> " (device " + rank.device() + " of " + rank.host() + ")")
                        .findFirst()
                        .orElse("");
    }

    /** Links to CPUs do not count: they join no GPUs. */
    private boolean hasFastLink(int device) {
        return machine.links().stream()
                .anyMatch(link -> (link.a() == device || link.b() == device)
                        && (joinsSwitch(link)
                                || (link.kind().isNvLinkClass()
                                        && link.a() < machine.size()
                                        && link.b() < machine.size())));
    }

    private boolean joinsSwitch(Link link) {
        int hub = Math.max(link.a(), link.b()) - machine.size();
        return link.kind().isNvLinkClass()
                && hub >= 0
                && machine.hubs().get(hub).kind() == Hub.Kind.NVSWITCH;
    }
}
