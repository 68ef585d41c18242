package dev.banyan.cli.trace;

import dev.banyan.reduce.backend.StepListener;
import dev.banyan.simulate.SimulationListener;
import dev.banyan.simulate.internal.trace.TraceWriter;
import dev.banyan.trees.network.Detours;
import dev.banyan.trees.network.Network;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The timeline of a real run on virtual devices, as the simulator's are written: what goes from one device to another
 * is shown on the links that it would take. Keeps all steps in memory. Safe for use from any thread.
 */
final class HostTimeline implements StepListener {
    private final long beginNanos = System.nanoTime();
    private final Network network;
    private final Detours detours;
    /** Also the lock of it. */
    private final TraceWriter writer;

    HostTimeline(Network network) {
        this.network = network;
        detours = new Detours(network);
        writer = new TraceWriter(network);
    }

    @Override
    public void moved(Move move) {
        double endUs = us(move.endNanos());
        SimulationListener.Transfer transfer = new SimulationListener.Transfer(
                (int) move.run(),
                move.chunk(),
                move.step(),
                move.from(),
                move.to(),
                arcs(move.from(), move.to()),
                move.bytes(),
                us(move.beginNanos()),
                endUs,
                endUs);
        synchronized (writer) {
            writer.transferred(transfer);
        }
    }

    @Override
    public void computed(Computation computation) {
        SimulationListener.Reduction reduction = new SimulationListener.Reduction(
                (int) computation.run(),
                computation.chunk(),
                computation.step(),
                computation.rank(),
                computation.bytes(),
                us(computation.beginNanos()),
                us(computation.endNanos()));
        synchronized (writer) {
            writer.reduced(reduction);
        }
    }

    void write(Path file) throws IOException {
        synchronized (writer) {
            writer.write(file);
        }
    }

    private double us(long nanos) {
        return (nanos - beginNanos) / 1e3;
    }

    /** None between devices that no links connect. */
    private List<Integer> arcs(int from, int to) {
        List<Integer> nodes = detours.path(from, to);
        return nodes == null
                ? List.of()
                : IntStream.range(1, nodes.size())
                        .mapToObj(hop -> network.arc(nodes.get(hop - 1), nodes.get(hop)))
                        .toList();
    }
}
