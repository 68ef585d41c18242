package dev.banyan.gpuday.pairs;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.banyan.cuda.internal.peer.PairFigures;
import dev.banyan.cuda.internal.peer.PairFigures.Outcome;
import dev.banyan.cuda.internal.peer.PeerMeter;
import dev.banyan.study.text.Numbers;
import dev.banyan.topology.Connection;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.topology.Routes;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/** Timed copies between all pairs of a machine, and what follows from them. */
public final class MeasuredLinks {
    /** A pair is reported as slow if large copies reach less than this share of its link's nominal bandwidth. */
    private static final double EXPECTED_SHARE = 0.7;
    /** A pair is sent through the host if that is faster than peer access by more than this factor. */
    private static final double HOST_SPEEDUP_THRESHOLD = 1.1;

    private final PairFigures[][] figures;
    private final List<String> warnings = new ArrayList<>();
    private Machine machine;

    private MeasuredLinks(Machine machine, PairFigures[][] figures) {
        this.machine = machine;
        this.figures = figures;
    }

    /**
     * Measures all ordered pairs.
     *
     * @param meter of the machine's devices, in their order
     * @param progress runs after each pair
     * @throws dev.banyan.cuda.type.CudaException if the driver fails
     */
    public static MeasuredLinks of(Machine machine, PeerMeter meter, Runnable progress) {
        int n = machine.size();
        PairFigures[][] figures = new PairFigures[n][n];
        for (int from = 0; from < n; from++) {
            for (int to = 0; to < n; to++) {
                figures[from][to] = meter.measure(from, to);
                progress.run();
            }
        }
        MeasuredLinks links = new MeasuredLinks(machine, figures);
        Routes routes = Routes.of(machine);
        for (int a = 0; a < n; a++) {
            for (int b = a + 1; b < n; b++) {
                links.judge(a, b, routes.between(a, b));
            }
        }
        return links;
    }

    private void judge(int a, int b, Connection connection) {
        Outcome outcome = worse(figures[a][b].peer(), figures[b][a].peer());
        String pair = PeerChecks.pair(machine, a, b);
        switch (outcome) {
            case WRONG_BYTES ->
                avoid(
                        a,
                        b,
                        "peer copies between " + pair + " arrive with wrong bytes, as they do where the IOMMU or PCIe"
                                + " access control (ACS) redirects them: they should not use"
                                + " peer access; disable ACS on the PCIe switches (setpci) and"
                                + " boot with iommu=off or iommu=pt, or set"
                                + " MXNET_ENABLE_GPU_P2P=0");
            case STUCK ->
                avoid(
                        a,
                        b,
                        "peer copies between " + pair + " do not end, as they do where the IOMMU or PCIe access"
                                + " control (ACS) blocks them: they should not use peer access;"
                                + " disable ACS on the PCIe switches (setpci) and boot with"
                                + " iommu=off or iommu=pt, or set MXNET_ENABLE_GPU_P2P=0, then"
                                + " measure again");
            case NOT_TRIED ->
                warnings.add("peer copies between " + pair + " were not tried, since another pair's are stuck;"
                        + " remove the cause and measure again");
            case NOT_GRANTED -> machine = NoPeerAccess.mark(machine, a, b);
            case RIGHT -> judgeSpeed(a, b, pair, connection);
        }
    }

    private void judgeSpeed(int a, int b, String pair, Connection connection) {
        double gbs = Math.min(figures[a][b].gbs(), figures[b][a].gbs());
        double host = Math.min(figures[a][b].hostGbs(), figures[b][a].hostGbs());
        if (host > HOST_SPEEDUP_THRESHOLD * gbs) {
            avoid(
                    a,
                    b,
                    Numbers.format(
                            "peer copies between %s reach %.2f GB/s and those through the host %.2f: they should not"
                                + " use peer access; disable ACS on the PCIe switches (setpci) and boot with iommu=off"
                                + " or iommu=pt",
                            pair, gbs, host));
        } else if (gbs < EXPECTED_SHARE * connection.gbs()) {
            warnings.add(Numbers.format(
                    "%s (%s) reaches %.2f of the %.1f GB/s of its kind; see nvidia-smi nvlink -s and -e, nvidia-smi -q"
                            + " -d PERFORMANCE, and the width and speed of PCIe links by nvidia-smi -q",
                    pair, connection.label(), gbs, connection.gbs()));
        }
    }

    private void avoid(int a, int b, String warning) {
        warnings.add(warning);
        machine = NoPeerAccess.mark(machine, a, b);
    }

    private static Outcome worse(Outcome one, Outcome other) {
        List<Outcome> order =
                List.of(Outcome.STUCK, Outcome.WRONG_BYTES, Outcome.NOT_TRIED, Outcome.NOT_GRANTED, Outcome.RIGHT);
        return order.indexOf(one) < order.indexOf(other) ? one : other;
    }

    /** The machine, which says which pairs must not use peer access. */
    public Machine machine() {
        return machine;
    }

    /** Returns the faults of pairs and their remedies, one sentence each. */
    public List<String> warnings() {
        return List.copyOf(warnings);
    }

    /**
     * An ordered pair, as JSON has it.
     *
     * @param figures what copies took
     */
    public record Row(int from, int to, @JsonUnwrapped PairFigures figures) {}

    /** All ordered pairs, those of a device with itself among them. */
    public List<Row> rows() {
        return IntStream.range(0, figures.length)
                .boxed()
                .flatMap(
                        from -> IntStream.range(0, figures.length).mapToObj(to -> new Row(from, to, figures[from][to])))
                .toList();
    }

    /** Prints what p2pBandwidthLatencyTest prints, in its form. */
    public void print(PrintWriter out) {
        print(out, "P2P Connectivity Matrix", "     D\\D", "%6.0f", figure -> figure.peer() == Outcome.RIGHT ? 1 : 0);
        print(out, "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)", "   D\\D", " %6.2f", PairFigures::hostGbs);
        print(
                out,
                "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)",
                "   D\\D",
                " %6.2f",
                PairFigures::gbs);
        print(out, "Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)", "   D\\D", " %6.2f", PairFigures::hostBothGbs);
        print(out, "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)", "   D\\D", " %6.2f", PairFigures::bothGbs);
        print(out, "P2P=Disabled Latency Matrix (us)", "   GPU", " %6.2f", PairFigures::hostLatencyUs);
        print(out, "P2P=Enabled Latency (P2P Writes) Matrix (us)", "   GPU", " %6.2f", PairFigures::latencyUs);
    }

    private void print(
            PrintWriter out, String title, String corner, String form, ToDoubleFunction<PairFigures> figure) {
        out.println(title);
        out.println(corner
                + row(IntStream.range(0, figures.length)
                        .mapToObj(column -> Numbers.format("%6d ", column))
                        .toList()));
        for (int from = 0; from < figures.length; from++) {
            PairFigures[] line = figures[from];
            out.println(Numbers.format("%6d", from)
                    + row(IntStream.range(0, line.length)
                            .mapToObj(to -> String.format(Locale.ROOT, form, figure.applyAsDouble(line[to])))
                            .toList()));
        }
    }

    private static String row(List<String> cells) {
        return " " + String.join("", cells).stripTrailing();
    }
}
