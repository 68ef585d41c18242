package dev.banyan.study.measured;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.internal.nccl.Transport;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import dev.banyan.topology.format.MachineReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * The published sweeps whose machines are known, by the names of their files; the figures themselves are not
 * part of the library. Safe for use from any thread.
 */
public final class PublishedSweeps {
    private static final PublishedSweeps LOADED = new PublishedSweeps();

    private final List<PublishedSweep> sweeps = new ArrayList<>();
    private final Map<String, String> leftOut = new TreeMap<>();

    private PublishedSweeps() {
        try (InputStream in = resource("sweeps.json")) {
            JsonNode whole = JsonMapper.builder().build().readTree(in);
            for (JsonNode entry : whole.get("sweeps")) {
                sweeps.add(sweep(entry));
            }
            whole.get("leftOut")
                    .properties()
                    .forEach(entry ->
                            leftOut.put(entry.getKey(), entry.getValue().textValue()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static InputStream resource(String name) {
        InputStream in = PublishedSweeps.class.getResourceAsStream(name);
        if (in == null) {
            throw new IllegalStateException("resource " + name + " is missing; the jar is not whole");
        }
        return in;
    }

    private static PublishedSweep sweep(JsonNode entry) throws IOException {
        JsonNode devices = entry.get("devices");
        int[] group = IntStream.range(0, devices.size())
                .map(i -> devices.get(i).intValue())
                .toArray();
        return new PublishedSweep(
                entry.get("file").textValue(),
                machine(entry.get("machine").textValue()).subset(group),
                Transport.valueOf(entry.get("transport").textValue()),
                Collective.valueOf(entry.get("collective").textValue()),
                entry.get("devicesPerProcess").intValue(),
                Optional.ofNullable(entry.get("seen").textValue()),
                entry.get("source").textValue(),
                entry.get("remark").textValue());
    }

    private static Machine machine(String name) throws IOException {
        Optional<Machine> preset = Presets.find(name);
        if (preset.isPresent()) {
            return preset.get();
        }
        try (InputStream in = resource(name)) {
            return new MachineReader().read(name, in);
        }
    }

    /** All of them, in the order in which they should be listed. */
    public static List<PublishedSweep> all() {
        return List.copyOf(LOADED.sweeps);
    }

    /** The one of a file's name. */
    public static Optional<PublishedSweep> find(String file) {
        return LOADED.sweeps.stream().filter(sweep -> sweep.file().equals(file)).findFirst();
    }

    /** Why a known file can't be compared; empty where it can, or isn't known. */
    public static Optional<String> leftOut(String file) {
        return Optional.ofNullable(LOADED.leftOut.get(file));
    }
}
