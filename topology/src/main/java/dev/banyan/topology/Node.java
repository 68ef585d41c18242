package dev.banyan.topology;

import java.util.Map;

/** A place where links end: a device, or a hub that only forwards. */
public sealed interface Node permits Device, Hub {
    /** What the description calls it. */
    String name();

    /** What else the description says of it, by name, in its order. */
    Map<String, String> attributes();
}
