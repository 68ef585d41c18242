package dev.banyan.topology;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** Immutable copies that keep the order of the description. */
final class Attributes {
    private Attributes() {}

    static Map<String, String> copyOf(Map<String, String> attributes) {
        return Collections.unmodifiableMap(new LinkedHashMap<>(attributes));
    }
}
