package dev.banyan.cli.scaling;

import dev.banyan.cli.input.NamedConverter;
import dev.banyan.study.cluster.Minsky;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** For picocli: the machine of the published figures, or a preset. */
final class MachineConverter extends NamedConverter<Machine> {
    MachineConverter() {
        super("machine", machines());
    }

    private static Map<String, Machine> machines() {
        Map<String, Machine> machines = new LinkedHashMap<>();
        machines.put(Minsky.NAME, Minsky.machine());
        for (String name : Presets.names()) {
            machines.put(name.toLowerCase(Locale.ROOT), Presets.find(name).orElseThrow());
        }
        return machines;
    }
}
