package dev.banyan.topology.internal.peer;

import dev.banyan.topology.Device;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Pairs of the devices of one description that must not touch each other's memory. Not safe for use by threads. */
public final class RefusedPairs {
    /** An assumption, in words. */
    public static final String BY_MODEL = "no peer access between GeForce cards from series 40 on, as NVIDIA's driver"
            + " refuses it (--peer-access yes if a patched driver grants it)";
    /** An assumption on other GPUs, in words. */
    public static final String GRANTED = "peer access over PCIe (nvidia-smi topo -p2p r shows whether GPUs have it;"
            + " --peer-access no if they don't)";

    private final int devices;
    private final BitSet refused = new BitSet();

    /** @param devices their number */
    public RefusedPairs(int devices) {
        this.devices = devices;
    }

    public void add(int a, int b) {
        if (a != b) {
            refused.set(a * devices + b);
            refused.set(b * devices + a);
        }
    }

    public boolean contains(int a, int b) {
        return refused.get(a * devices + b);
    }

    /** Returns the devices, each with the attribute of {@link NoPeerAccess}. */
    public List<Device> mark(List<Device> all) {
        List<Device> marked = new ArrayList<>();
        for (int a = 0; a < devices; a++) {
            int index = a;
            Device device = all.get(a);
            String others = IntStream.range(0, devices)
                    .filter(b -> contains(index, b))
                    .mapToObj(b -> NoPeerAccess.id(all.get(b)))
                    .collect(Collectors.joining(" "));
            Map<String, String> attributes = new LinkedHashMap<>(device.attributes());
            if (!others.isEmpty()) {
                attributes.put(NoPeerAccess.ATTRIBUTE, others);
            }
            marked.add(new Device(device.name(), device.busId(), device.numa(), attributes));
        }
        return marked;
    }

    /**
     * Returns the links without those that no pair may use: direct ones between refused pairs, and those of a device
     * to switches of its own kind if it is refused with all others there.
     */
    public List<Link> usable(List<Link> links) {
        return refused.isEmpty()
                ? links
                : links.stream().filter(link -> isUsable(link, links)).toList();
    }

    private boolean isUsable(Link link, List<Link> links) {
        if (!link.kind().isNvLinkClass()) {
            return true;
        }
        int device = Math.min(link.a(), link.b());
        int other = Math.max(link.a(), link.b());
        if (other < devices) {
            return !contains(device, other);
        }
        return links.stream()
                .filter(each -> each.kind().isNvLinkClass() && Math.max(each.a(), each.b()) == other)
                .mapToInt(each -> Math.min(each.a(), each.b()))
                .anyMatch(peer -> peer != device && !contains(device, peer));
    }

    /** Returns whether some neighbours in a ring of a machine's devices have no peer access. */
    public static boolean inRing(Machine machine, List<Integer> order) {
        return IntStream.range(0, order.size())
                .anyMatch(hop -> NoPeerAccess.between(machine, order.get(hop), order.get((hop + 1) % order.size())));
    }

    /** Returns whether some two devices of a machine have no peer access. */
    public static boolean any(Machine machine) {
        return IntStream.range(0, machine.size())
                .anyMatch(a -> IntStream.range(0, a).anyMatch(b -> NoPeerAccess.between(machine, a, b)));
    }
}
