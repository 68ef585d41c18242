package dev.banyan.topology;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Pairs of devices that must not touch each other's memory, as the driver refuses it or a probe has found it wrong,
 * stuck or slower than the way through the host. They are kept as an attribute of devices, {@value #ATTRIBUTE}: bus
 * ids, or names where there are none, of the other devices, with blanks between.
 */
public final class NoPeerAccess {
    /** Name of the attribute. */
    public static final String ATTRIBUTE = "no_peer_access";

    private NoPeerAccess() {}

    /** Returns whether two devices are marked as such a pair, at either of them. */
    public static boolean between(Machine machine, int a, int b) {
        Device one = machine.devices().get(a);
        Device other = machine.devices().get(b);
        return names(one).contains(id(other)) || names(other).contains(id(one));
    }

    /** Returns whether each two devices are marked as such a pair. */
    public static boolean betweenAll(Machine machine) {
        for (int a = 0; a < machine.size(); a++) {
            for (int b = 0; b < a; b++) {
                if (!between(machine, a, b)) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Returns the machine with two devices marked as such a pair. */
    public static Machine mark(Machine machine, int a, int b) {
        List<Device> devices = new ArrayList<>(machine.devices());
        devices.set(a, naming(devices.get(a), devices.get(b)));
        devices.set(b, naming(devices.get(b), devices.get(a)));
        return new Machine(
                machine.name(),
                devices,
                machine.hubs(),
                machine.links(),
                machine.nics(),
                machine.warnings(),
                machine.assumed());
    }

    private static Device naming(Device device, Device other) {
        Set<String> names = names(device);
        names.add(id(other));
        Map<String, String> attributes = new LinkedHashMap<>(device.attributes());
        attributes.put(ATTRIBUTE, String.join(" ", names));
        return new Device(device.name(), device.busId(), device.numa(), attributes);
    }

    private static Set<String> names(Device device) {
        String value = device.attributes().getOrDefault(ATTRIBUTE, "");
        return new LinkedHashSet<>(value.isBlank() ? List.of() : Arrays.asList(value.split(" +", -1)));
    }

    /** Returns the name by which the attribute of other devices refers to a device. */
    public static String id(Device device) {
        String busId = device.busId();
        return busId == null ? device.name() : busId;
    }
}
