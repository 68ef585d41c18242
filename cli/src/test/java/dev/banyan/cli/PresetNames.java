package dev.banyan.cli;

import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.util.stream.Stream;

/** The presets that tests go through. */
public final class PresetNames {
    private PresetNames() {}

    /** Returns the names of all presets of at most 16 devices. */
    public static Stream<String> ofAtMost16Devices() {
        return Presets.all().stream().filter(machine -> machine.size() <= 16).map(Machine::name);
    }
}
