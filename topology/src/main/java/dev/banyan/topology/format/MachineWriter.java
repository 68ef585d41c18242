package dev.banyan.topology.format;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.json.BanyanJsonWriter;
import dev.banyan.topology.internal.matrix.MatrixWriter;
import dev.banyan.topology.internal.nccl.NcclXmlWriter;
import dev.banyan.topology.internal.nvidia.TopoTextWriter;
import dev.banyan.topology.option.MatrixUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Writes machine descriptions that {@link MachineReader} reads.
 *
 * <p>{@code json} keeps everything. {@code nccl-xml} keeps devices, hubs, cards and the bandwidth of links, which
 * NCCL's files have a place for or which NCCL ignores; it loses latencies and warnings. {@code topo} is what {@code
 * nvidia-smi topo -m} would print; {@code matrix} and {@code matrix-gbs} are the classes and the GB/s of its {@link
 * LinkMatrix}.
 */
public final class MachineWriter {
    private static final Map<String, Function<Machine, String>> FORMATS = formatsByName();

    private MachineWriter() {}

    private static Map<String, Function<Machine, String>> formatsByName() {
        Map<String, Function<Machine, String>> formats = new LinkedHashMap<>();
        formats.put("json", BanyanJsonWriter::write);
        formats.put("nccl-xml", NcclXmlWriter::write);
        formats.put("topo", TopoTextWriter::write);
        formats.put("matrix", machine -> MatrixWriter.write(LinkMatrix.of(machine), MatrixUnit.CLASSES));
        formats.put("matrix-gbs", machine -> MatrixWriter.write(LinkMatrix.of(machine), MatrixUnit.GBS));
        return formats;
    }

    /** Names of the formats that can be written. */
    public static List<String> formats() {
        return List.copyOf(FORMATS.keySet());
    }

    /**
     * Writes a machine.
     *
     * @param format one of {@link #formats()}
     * @return the whole description, with a line feed at its end
     * @throws IllegalArgumentException if there is no such format, or the format cannot express the
     *     machine; the message says what it is that it cannot
     */
    public static String write(Machine machine, String format) {
        Function<Machine, String> writer = FORMATS.get(format);
        if (writer == null) {
            throw new IllegalArgumentException(
                    "machines are not written as \"" + format + "\"; known are " + String.join(", ", FORMATS.keySet()));
        }
        return writer.apply(machine);
    }
}
