package dev.banyan.simulate.internal.trace;

import dev.banyan.simulate.SimulationListener;
import dev.banyan.trees.network.Network;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Collects the timeline of a simulation and writes it as {@link TraceEvents}, which Perfetto (ui.perfetto.dev)
 * and chrome://tracing show: a row per directed link, with the transfers that occupy it, and one per device,
 * with its kernels. Where several transfers share a link, it gets as many rows as there are at once.
 *
 * <p>Keeps all events in memory. Not safe
 * for use from several threads at once.
 */
public final class TraceWriter implements SimulationListener {
    private static final int DEVICES = 1;
    private static final int LINKS = 2;

    private final Network network;
    private final List<List<Slice>> byArc = new ArrayList<>();
    private final List<List<Slice>> byRank = new ArrayList<>();

    private record Slice(String name, int job, int chunk, int step, double bytes, double startUs, double endUs) {}

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
                network.node(transfer.from()).name() + " to "
                        + network.node(transfer.to()).name(),
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
        try (TraceEvents events = new TraceEvents(writer, "ns")) {
            events.nameGroup(DEVICES, "devices of " + network.name());
            events.nameGroup(LINKS, "links of " + network.name());
            int row = 1;
            for (int rank = 0; rank < network.ranks(); rank++) {
                row = writeRows(events, DEVICES, row, network.node(rank).name(), byRank.get(rank));
            }
            for (int arc = 0; arc < network.arcs(); arc++) {
                String label = network.node(network.from(arc)).name() + " -> "
                        + network.node(network.to(arc)).name();
                row = writeRows(events, LINKS, row, label, byArc.get(arc));
            }
        }
    }

    private static int writeRows(TraceEvents events, int group, int firstRow, String label, List<Slice> slices)
            throws IOException {
        List<Double> rowEnds = new ArrayList<>(List.of(0.0));
        events.nameRow(group, firstRow, label);
        for (Slice slice : slices.stream()
                .sorted(Comparator.comparingDouble(Slice::startUs))
                .toList()) {
            int row = 0;
            while (row < rowEnds.size() && rowEnds.get(row) > slice.startUs()) {
                row++;
            }
            if (row == rowEnds.size()) {
                rowEnds.add(0.0);
                events.nameRow(group, firstRow + row, label + " (" + (row + 1) + ")");
            }
            rowEnds.set(row, slice.endUs());
            write(events, group, firstRow + row, slice);
        }
        return firstRow + rowEnds.size();
    }

    private static void write(TraceEvents events, int group, int row, Slice slice) throws IOException {
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("job", slice.job());
        details.put("chunk", slice.chunk());
        details.put("step", slice.step());
        details.put("bytes", slice.bytes());
        events.slice(group, row, slice.name(), slice.startUs(), slice.endUs() - slice.startUs(), details);
    }
}
