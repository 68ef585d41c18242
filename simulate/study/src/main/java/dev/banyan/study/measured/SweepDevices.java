package dev.banyan.study.measured;

import dev.banyan.study.measured.sweep.SweepRank;
import dev.banyan.study.measured.sweep.SweepRun;
import dev.banyan.topology.Device;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.text.GpuProduct;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/** The devices of a machine that the header of a sweep names. */
final class SweepDevices {
    /** Ranks on several hosts share NVLink in racks of these alone. */
    private static final String RACK = "GB\\d{3}";

    private static final Pattern CARD = Pattern.compile("(?i)\\b(?:NVL|PCIe)\\b");
    private static final Pattern MODULE = Pattern.compile("SXM|HBM3\\b|\\bH200$");

    private final SweepRun run;
    private final Machine machine;

    SweepDevices(SweepRun run, Machine machine) {
        this.run = run;
        this.machine = machine;
    }

    /** Returns why the sweep was not measured on this machine or a part of it; empty if nothing says so. */
    Optional<String> contradiction() {
        List<String> hosts = run.hosts();
        int ranks = run.rankCount();
        boolean isRack = ranks == machine.size()
                && run.models().stream().allMatch(model -> model.matches(".*\\b" + RACK + "\\b.*"));
        if (hosts.size() > 1 && !isRack) {
            return Optional.of("the header names " + hosts.size() + " hosts (" + hosts.get(0) + ", " + hosts.get(1)
                    + (hosts.size() > 2 ? ", ..." : "") + "), but " + machine.name()
                    + " is one machine of " + machine.size() + " devices; give a sweep of one host");
        }
        Map<List<Object>, SweepRank> byDevice = new HashMap<>();
        for (SweepRank rank : run.ranks()) {
            SweepRank other = rank.busId().isEmpty()
                    ? null
                    : byDevice.putIfAbsent(List.of(rank.host(), rank.device(), rank.busId()), rank);
            if (other != null && other.rank() != rank.rank()) {
                return Optional.of("the header names ranks " + other.rank() + " and " + rank.rank() + " on one device, "
                        + rank.device() + " [" + rank.busId() + "] of " + rank.host()
                        + ", so that no link between devices was measured; give a sweep with a device for each rank");
            }
        }
        if (ranks > machine.size()) {
            return Optional.of("the header names " + ranks + " ranks, but " + machine.name() + " has " + machine.size()
                    + " devices; name the machine that it ran on");
        }
        for (String model : run.models()) {
            for (Device device : machine.devices()) {
                String other = device.attributes().getOrDefault("model", "");
                Optional<GpuProduct> mine = GpuProduct.of(model);
                Optional<GpuProduct> theirs = GpuProduct.of(other);
                if (mine.isPresent() && theirs.isPresent() && (!mine.equals(theirs) || areOtherForms(model, other))) {
                    return Optional.of("the header names " + model + ", but " + device.name() + " of " + machine.name()
                            + " is " + other + "; name the machine that it ran on");
                }
            }
        }
        return Optional.empty();
    }

    /** Cards of PCIe have other links than boards with NVSwitches, which have modules of the same GPU. */
    private static boolean areOtherForms(String model, String other) {
        return (CARD.matcher(model).find() && MODULE.matcher(other).find())
                || (MODULE.matcher(model).find() && CARD.matcher(other).find());
    }

    /** Returns the devices in the order of ranks, by bus ids, else by numbers; empty if neither names each. */
    Optional<int[]> group() {
        int[] byBus = new int[run.ranks().size()];
        int[] byNumber = new int[run.ranks().size()];
        for (int i = 0; i < byBus.length; i++) {
            SweepRank rank = run.ranks().get(i);
            byBus[i] = find(rank.busId());
            byNumber[i] = rank.device() < machine.size() ? rank.device() : -1;
        }
        return isGroup(byBus) ? Optional.of(byBus) : isGroup(byNumber) ? Optional.of(byNumber) : Optional.empty();
    }

    private boolean isGroup(int[] devices) {
        return devices.length == run.rankCount()
                && Arrays.stream(devices).allMatch(device -> device >= 0)
                && Arrays.stream(devices).distinct().count() == devices.length;
    }

    /** Bus ids are printed without the function, or as the bus alone, e.g. {@code 0x1a}. */
    private int find(String busId) {
        String part = busId.startsWith("0x") ? ":" + busId.substring(2) + ":" : busId;
        int found = -1;
        for (int i = 0; i < machine.size(); i++) {
            String own = machine.devices().get(i).busId();
            if (own != null && part.length() > 3 && own.contains(part)) {
                if (found >= 0) {
                    return -1;
                }
                found = i;
            }
        }
        return found;
    }
}
