package dev.banyan.topology;

import java.util.Map;

/** A place where links end: a device, or a hub that only forwards. */
public sealed interface Node permits Device, Hub {
    /** Returns its name in the description. */
    String name();

    /** Returns its other attributes in the description, by name, in the description's order. */
    Map<String, String> attributes();
}
