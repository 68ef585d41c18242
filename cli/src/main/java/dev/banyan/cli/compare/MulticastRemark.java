package dev.banyan.cli.compare;

import dev.banyan.cli.output.Numbers;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * By how much reductions in a switch could exceed a bound of links, which takes switches to forward only. NVSwitches
 * reduce and copy from those of H100 on (compute capability 9.0).
 */
final class MulticastRemark {
    private static final int FIRST_H100 = 90;

    private MulticastRemark() {}

    /**
     * Returns what to say of an all-reduce, if all devices of a machine are linked to switches that reduce. Each device
     * still sends all of its data, and receives all of the result.
     *
     * @param boundGbs the bound of links of an all-reduce
     */
    static Optional<String> of(Machine machine, double boundGbs) {
        double each = IntStream.range(0, machine.size())
                .mapToDouble(device -> gbsOfSwitches(machine, device))
                .min()
                .orElse(0);
        boolean reduces = machine.devices().stream().allMatch(MulticastRemark::canMulticast);
        return !reduces || each <= boundGbs
                ? Optional.empty()
                : Optional.of("all_reduce by reductions in the NVSwitches, which Banyan does not use: no more than "
                        + Numbers.plain(each) + " GB/s, " + Numbers.format("%.2f", each / boundGbs)
                        + " times the bound of links, as each device sends its data once and receives the result once;"
                        + " the other collectives gain nothing");
    }

    private static boolean canMulticast(Device device) {
        String sm = device.attributes().getOrDefault("sm", "");
        return sm.matches("[0-9]{2,3}") && Integer.parseInt(sm) >= FIRST_H100;
    }

    /** Returns what a device and all switches exchange at the same time, in the slower direction. */
    private static double gbsOfSwitches(Machine machine, int device) {
        double to = 0;
        double from = 0;
        for (Link link : machine.links()) {
            if (link.a() != device && link.b() != device) {
                continue;
            }
            int other = link.other(device);
            if (machine.node(other) instanceof Hub hub && hub.kind() == Hub.Kind.NVSWITCH) {
                to += link.gbsFrom(device);
                from += link.gbsFrom(other);
            }
        }
        return Math.min(to, from);
    }
}
