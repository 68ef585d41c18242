package dev.banyan.study.diagnosis;

import dev.banyan.topology.Hub;
import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The links between neighbours in rings. */
public final class RingHops {
    private final Machine machine;

    public RingHops(Machine machine) {
        this.machine = machine;
    }

    /** Returns the neighbours, each pair once, that neither NVLink nor xGMI joins, e.g. {@code GPU3-GPU5}. */
    public List<String> acrossPcie(List<List<Integer>> rings) {
        Set<String> pairs = new LinkedHashSet<>();
        for (List<Integer> ring : rings) {
            for (int i = 0; i < ring.size(); i++) {
                int a = ring.get(i);
                int b = ring.get((i + 1) % ring.size());
                if (a != b && !areJoined(a, b)) {
                    pairs.add(name(Math.min(a, b)) + "-" + name(Math.max(a, b)));
                }
            }
        }
        return new ArrayList<>(pairs);
    }

    public String name(int device) {
        return machine.devices().get(device).name();
    }

    private boolean areJoined(int a, int b) {
        return isFast(a, b) || (hasNvswitch(a) && hasNvswitch(b));
    }

    private boolean isFast(int a, int b) {
        return machine.links().stream()
                .anyMatch(link -> link.kind().isNvLinkClass()
                        && Math.min(link.a(), link.b()) == Math.min(a, b)
                        && Math.max(link.a(), link.b()) == Math.max(a, b));
    }

    private boolean hasNvswitch(int device) {
        for (int hub = 0; hub < machine.hubs().size(); hub++) {
            if (machine.hubs().get(hub).kind() == Hub.Kind.NVSWITCH && isFast(device, machine.size() + hub)) {
                return true;
            }
        }
        return false;
    }
}
