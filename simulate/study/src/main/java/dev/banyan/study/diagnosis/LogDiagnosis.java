package dev.banyan.study.diagnosis;

import dev.banyan.study.measured.NcclLog;
import dev.banyan.study.text.ByteSize;
import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The findings from a log of NCCL.
 *
 * @param file name of its file
 * @param findings one sentence each
 * @param worthTrying settings of NCCL and other changes; empty if none is likely to help
 */
public record LogDiagnosis(String file, List<String> findings, List<Advice> worthTrying) {
    /** Most pairs that a sentence names. */
    private static final int SHOWN = 6;

    /**
     * Diagnoses a log.
     *
     * @param machine what NCCL ran on, with as many devices as the log has ranks; null if it is not known
     */
    public static LogDiagnosis of(NcclLog log, @Nullable Machine machine) {
        List<String> findings = new ArrayList<>();
        List<Advice> advice = new ArrayList<>();
        log.version().ifPresent(version -> findings.add("NCCL " + version + ", " + log.ranks() + " ranks"));
        List<Advice> last = new ArrayList<>();
        rings(log, machine, findings, last);
        hops(log, findings);
        disabled(log, findings, advice);
        settings(log, findings, advice);
        log.nvls()
                .ifPresent(nvls -> findings.add(
                        nvls
                                ? "NCCL can reduce in the switch (NVLS)"
                                : "NCCL cannot reduce in the switch (NVLS) here"));
        if (!log.choices().isEmpty()) {
            findings.add("NCCL chose " + choices(log));
        }
        advice.addAll(last);
        return new LogDiagnosis(log.source(), List.copyOf(findings), List.copyOf(advice));
    }

    private static void rings(NcclLog log, @Nullable Machine machine, List<String> findings, List<Advice> last) {
        if (log.channels() > log.rings().size()) {
            findings.add("Collectives use " + log.channels() + " channels");
        }
        if (log.rings().isEmpty()) {
            return;
        }
        Map<List<Integer>, Long> orders = log.rings().values().stream()
                .collect(Collectors.groupingBy(order -> order, LinkedHashMap::new, Collectors.counting()));
        findings.add("Its " + log.rings().size() + (log.rings().size() == 1 ? " channel goes" : " channels go")
                + " around " + orders.size() + (orders.size() == 1 ? " ring: " : " rings: ")
                + orders.entrySet().stream()
                        .map(entry ->
                                entry.getKey().stream().map(Object::toString).collect(Collectors.joining("-"))
                                        + (entry.getValue() == 1 ? "" : " (" + entry.getValue() + " channels)"))
                        .collect(Collectors.joining(", ")));
        if (machine != null
                && log.rings().values().stream()
                        .allMatch(order -> order.stream().allMatch(rank -> rank < machine.size()))) {
            List<String> pcie =
                    new RingHops(machine).acrossPcie(List.copyOf(log.rings().values()));
            findings.add(
                    pcie.isEmpty()
                            ? "All neighbours in its rings are joined by NVLink, if ranks are in the order of devices"
                            : "The rings cross " + some(pcie) + " by PCIe, if ranks are in the order of devices");
            if (!pcie.isEmpty()) {
                Advice.export(machine).ifPresent(last::add);
            }
        }
    }

    private static void hops(NcclLog log, List<String> findings) {
        if (log.hops().isEmpty()) {
            return;
        }
        Map<String, List<String>> by = new TreeMap<>();
        log.hops()
                .forEach((pair, way) -> by.computeIfAbsent(way.split("/", -1)[0], _ -> new ArrayList<>())
                        .add(pair.from() + "->" + pair.to()));
        by.forEach((way, pairs) -> findings.add(pairs.size()
                + (pairs.size() == 1 ? " pair of ranks sends " : " pairs of ranks send ")
                + switch (way) {
                    case "P2P" -> "peer to peer";
                    case "SHM" -> "through the host's memory (SHM): " + some(pairs);
                    case "NET" -> "by the network (NET): " + some(pairs);
                    default -> "by " + way + ": " + some(pairs);
                }));
    }

    private static void disabled(NcclLog log, List<String> findings, List<Advice> advice) {
        if (log.disabled().isEmpty()) {
            return;
        }
        Set<String> pairs = new LinkedHashSet<>();
        log.disabled()
                .forEach(pair -> pairs.add(
                        "GPU" + Math.min(pair.from(), pair.to()) + "-GPU" + Math.max(pair.from(), pair.to())));
        findings.add("The driver refuses peer access between " + some(new ArrayList<>(pairs)) + ", so that data go"
                + " through the host");
        advice.add(new Advice(
                "no setting of NCCL",
                "peer access is the driver's to grant: see nvidia-smi topo -p2p r, and whether IOMMU, ACS or the"
                        + " hypervisor are in the way"));
    }

    private static void settings(NcclLog log, List<String> findings, List<Advice> advice) {
        if (log.settings().isEmpty()) {
            return;
        }
        findings.add("The environment sets "
                + log.settings().entrySet().stream()
                        .map(entry -> entry.getKey() + "=" + entry.getValue())
                        .collect(Collectors.joining(", ")));
        if ("1".equals(log.settings().get("NCCL_P2P_DISABLE"))) {
            advice.add(new Advice("unset NCCL_P2P_DISABLE", "it takes all data through the host's memory"));
        }
        String level = log.settings().get("NCCL_P2P_LEVEL");
        if (level != null && Set.of("LOC", "0").contains(level)) {
            advice.add(new Advice("unset NCCL_P2P_LEVEL", level + " allows no peer access at all"));
        }
        for (String name : List.of("NCCL_ALGO", "NCCL_PROTO", "NCCL_MAX_NCHANNELS", "NCCL_NTHREADS")) {
            if (log.settings().containsKey(name)) {
                advice.add(new Advice(
                        "unset " + name, "it holds for all sizes, and what helps at one size slows others down"));
            }
        }
        if ("0".equals(log.settings().get("NCCL_NVLS_ENABLE"))) {
            advice.add(new Advice("unset NCCL_NVLS_ENABLE", "0 keeps NCCL from reducing in the switch"));
        }
    }

    /** Sizes at which the choice changes. */
    private static String choices(NcclLog log) {
        List<String> changes = new ArrayList<>();
        String before = "";
        for (Map.Entry<Long, String> entry : log.choices().entrySet()) {
            if (!entry.getValue().equals(before)) {
                before = entry.getValue();
                changes.add(before + " from " + new ByteSize(entry.getKey()).label() + " on");
            }
        }
        return String.join(", ", changes);
    }

    private static String some(List<String> pairs) {
        return pairs.size() <= SHOWN
                ? String.join(", ", pairs)
                : String.join(", ", pairs.subList(0, SHOWN)) + " and " + (pairs.size() - SHOWN) + " more";
    }
}
