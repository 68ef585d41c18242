package dev.banyan.reduce.internal;

import dev.banyan.topology.Device;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** Machines whose devices are parts of the host's memory, all linked alike. */
public final class HostMachine {
    /** Assumed; the same everywhere, so that it decides nothing. */
    private static final double GBS = 16;

    private static final double LATENCY_US = 1;

    private HostMachine() {}

    /**
     * Returns a machine with a link between any two devices.
     *
     * @param name of the machine
     * @param device what the names of devices begin with
     * @param devices their number, at least 1
     */
    public static Machine of(String name, String device, int devices) {
        List<Link> links = new ArrayList<>();
        for (int a = 0; a < devices; a++) {
            for (int b = a + 1; b < devices; b++) {
                links.add(Link.duplex(a, b, Link.Kind.PCIE, 1, GBS, LATENCY_US));
            }
        }
        return new Machine(
                name,
                IntStream.range(0, devices)
                        .mapToObj(i -> Device.named(device + i))
                        .toList(),
                List.of(),
                links,
                List.of(),
                List.of());
    }
}
