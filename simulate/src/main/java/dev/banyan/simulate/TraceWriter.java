package dev.banyan.simulate;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import dev.banyan.trees.network.Network;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Collects the timeline of a simulation and writes it as trace-event JSON, which Perfetto (ui.perfetto.dev)
 * and chrome://tracing show: a row per directed link, with the transfers that occupy it, and one per device,
 * with its kernels. Where several transfers share a link, it gets as many rows as there are at once.
 *
 * <p>Format: "Trace Event Format", complete events ({@code ph X}) in us. Keeps all events in memory. Not safe
 * for use from several threads at once.
 */
public final class TraceWriter implements SimulationListener {
    private static final int DEVICES = 1;
    private static final int LINKS = 2;

    private final Network network;
    private final List<List<Slice>> byArc = new ArrayList<>();
    private final List<List<Slice>> byRank = new ArrayList<>();

    private record Slice(
            String name, int job, int chunk, int step, double bytes, double startUs, double endUs) {}

    /** A timeline without events. */
    public TraceWriter(Network network) {
        this.network = network;
        for (int arc = 0; arc < network.arcs(); arc++) {
            byArc.add(new ArrayList<>());
        }
        for (int rank = 0; rank < network.ranks(); rank++) {
            byRank.add(new ArrayList<>());
        }
    }

    @Override
    public void transferred(Transfer transfer) {
        Slice slice = new Slice(
                network.node(transfer.from()).name() + " to " + network.node(transfer.to()).name(),
                transfer.job(),
                transfer.chunk(),
                transfer.step(),
                transfer.bytes(),
                transfer.startUs(),
                transfer.endUs());
        for (int arc : transfer.arcs()) {
            byArc.get(arc).add(slice);
        }
    }

    @Override
    public void reduced(Reduction reduction) {
        byRank.get(reduction.rank())
                .add(new Slice(
                        "kernel",
                        reduction.job(),
                        reduction.chunk(),
                        reduction.step(),
                        reduction.bytes(),
                        reduction.startUs(),
                        reduction.endUs()));
    }

    /**
     * Writes the file.
     *
     * @throws IOException if that fails
     */
    public void write(Path file) throws IOException {
        try (Writer writer = Files.newBufferedWriter(file)) {
            write(writer);
        }
    }

    /**
     * Writes the timeline; the writer stays open.
     *
     * @throws IOException if that fails
     */
    public void write(Writer writer) throws IOException {
        try (JsonGenerator json = new JsonFactory()
                .createGenerator(writer)
                .disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET)) {
            json.writeStartObject();
            json.writeStringField("displayTimeUnit", "ns");
            json.writeArrayFieldStart("traceEvents");
            name(json, "process_name", DEVICES, 0, "devices of " + network.name());
            name(json, "process_name", LINKS, 0, "links of " + network.name());
            int row = 1;
            for (int rank = 0; rank < network.ranks(); rank++) {
                row = writeRows(json, DEVICES, row, network.node(rank).name(), byRank.get(rank));
            }
            for (int arc = 0; arc < network.arcs(); arc++) {
                String label = network.node(network.from(arc)).name() + " -> "
                        + network.node(network.to(arc)).name();
                row = writeRows(json, LINKS, row, label, byArc.get(arc));
            }
            json.writeEndArray();
            json.writeEndObject();
        }
    }

    private static int writeRows(JsonGenerator json, int process, int firstRow, String label, List<Slice> slices)
            throws IOException {
        List<Double> rowEnds = new ArrayList<>(List.of(0.0));
        name(json, "thread_name", process, firstRow, label);
        for (Slice slice : slices.stream()
                .sorted(Comparator.comparingDouble(Slice::startUs))
                .toList()) {
            int row = 0;
            while (row < rowEnds.size() && rowEnds.get(row) > slice.startUs()) {
                row++;
            }
            if (row == rowEnds.size()) {
                rowEnds.add(0.0);
                name(json, "thread_name", process, firstRow + row, label + " (" + (row + 1) + ")");
            }
            rowEnds.set(row, slice.endUs());
            write(json, process, firstRow + row, slice);
        }
        return firstRow + rowEnds.size();
    }

    private static void name(JsonGenerator json, String what, int process, int row, String name)
            throws IOException {
        json.writeStartObject();
        json.writeStringField("name", what);
        json.writeStringField("ph", "M");
        json.writeNumberField("pid", process);
        json.writeNumberField("tid", row);
        json.writeObjectFieldStart("args");
        json.writeStringField("name", name);
        json.writeEndObject();
        json.writeEndObject();
    }

    private static void write(JsonGenerator json, int process, int row, Slice slice) throws IOException {
        json.writeStartObject();
        json.writeStringField("name", slice.name());
        json.writeStringField("ph", "X");
        json.writeNumberField("pid", process);
        json.writeNumberField("tid", row);
        json.writeNumberField("ts", slice.startUs());
        json.writeNumberField("dur", slice.endUs() - slice.startUs());
        json.writeObjectFieldStart("args");
        json.writeNumberField("job", slice.job());
        json.writeNumberField("chunk", slice.chunk());
        json.writeNumberField("step", slice.step());
        json.writeNumberField("bytes", slice.bytes());
        json.writeEndObject();
        json.writeEndObject();
    }
}
