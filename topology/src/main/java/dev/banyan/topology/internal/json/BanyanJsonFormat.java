package dev.banyan.topology.internal.json;

import dev.banyan.config.internal.json.JsonValue;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.text.MachineFormat;
import java.util.regex.Pattern;

/**
 * Banyan's own form of a machine, without loss:
 *
 * <pre>{@code
 * {
 *   "banyan": 1,
 *   "name": "pair",
 *   "devices": [
 *     { "name": "GPU0", "busId": "0000:06:00.0", "numa": 0, "attributes": { "sm": "70" } },
 *     { "name": "GPU1", "busId": "0000:07:00.0", "numa": 0, "attributes": { "sm": "70" } }
 *   ],
 *   "hubs": [{ "name": "CPU 0", "kind": "cpu-socket", "attributes": {} }],
 *   "links": [
 *     { "a": 0, "b": 1, "kind": "nvlink", "lanes": 2, "gbsAToB": 50.0, "gbsBToA": 50.0, "latencyUs": 1.8 },
 *     { "a": 2, "b": 0, "kind": "pcie", "lanes": 16, "gbsAToB": 12.0, "gbsBToA": 12.0, "latencyUs": 4.25 }
 *   ],
 *   "nics": [{ "name": "mlx5_0", "hub": 2, "attributes": {} }],
 *   "warnings": [],
 *   "assumed": []
 * }
 * }</pre>
 *
 * <p>{@code banyan}, {@code name}, {@code devices} and {@code links} must be there, and every key of a link; {@code
 * hubs}, {@code nics}, {@code warnings}, {@code assumed}, {@code busId}, {@code numa}, {@code attributes}, the {@code
 * hub} of a card and {@code reduces} (whether an NVSwitch copies and reduces) may be missing. Other keys are refused,
 * as are two of one name.
 */
public final class BanyanJsonFormat implements MachineFormat {
    /** Value of the key {@code banyan}. */
    static final int VERSION = 1;

    private static final Pattern BEGINNING = Pattern.compile("\\s*\\{");

    @Override
    public boolean recognizes(String text) {
        return BEGINNING.matcher(text).lookingAt();
    }

    @Override
    public boolean leavesSpeedsOpen() {
        return false;
    }

    @Override
    public Machine read(String source, String text) {
        return new BanyanJsonReader(JsonValue.parse(source, "the machine", text)).read();
    }
}
