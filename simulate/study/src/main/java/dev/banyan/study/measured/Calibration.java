package dev.banyan.study.measured;

import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.study.measured.P2pReport.Measure;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.trees.network.Detours;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/**
 * Computes constants from what p2pBandwidthLatencyTest measured on a machine; those that it does not measure are a base
 * profile's.
 *
 * <ul>
 *   <li>{@code nvlink.efficiency}: over the pairs whose path is of NVLinks alone, what both ways at once reach of
 *       twice the nominal bandwidth; where that was not measured, what one way reaches. Of all pairs the 90th
 *       percentile is taken: what is lost on some pairs only is not the links' own.
 *   <li>{@code nvlink.hopUs}: the median, over the same pairs, of what a small copy takes beyond the links' latencies.
 *   <li>{@code pcie.efficiency}: the 90th percentile of what one way reaches, through the host's memory, of the
 *       narrowest PCIe link on the way.
 *   <li>{@code pcie.hopUs}: the median of what such a copy takes beyond the latencies, over pairs whose way passes a
 *       CPU socket.
 *   <li>{@code host.duplex}: the median of what both ways at once reach of twice one way, through the host's memory.
 *   <li>{@code reduceGbs}: the median of copies within a device, which the test counts as read and written.
 * </ul>
 *
 * <p>O(n^2 h) for n devices whose paths have h hops, beside finding the paths.
 *
 * @param profile all constants
 * @param measured the constants that were measured
 * @param unused the matrices of which no constant takes the figures of pairs
 */
public record Calibration(Profile profile, List<Constant> measured, List<Measure> unused) {
    private static final double NINETIETH_PERCENTILE = 0.9;
    private static final double MEDIAN = 0.5;

    public Calibration {
        measured = List.copyOf(measured);
        unused = List.copyOf(unused);
    }

    /**
     * Calibrates.
     *
     * @param report what was measured
     * @param machine the same devices in the same order, with nominal bandwidths
     * @param base the rest
     * @param name of the new profile
     * @throws IllegalArgumentException if the numbers of devices differ, or a measured value is impossible
     */
    public static Calibration of(P2pReport report, Machine machine, Profile base, String name) {
        if (report.devices() != machine.size()) {
            throw new IllegalArgumentException(report.source() + " is of " + report.devices() + " devices but "
                    + machine.name() + " has " + machine.size() + "; name the machine that was measured");
        }
        return new Work(report, machine).on(base, name);
    }

    /** A route of data between two devices. */
    private record Route(int from, int to, List<Integer> arcs, boolean throughSocket) {}

    private static final class Work {
        private final P2pReport report;
        private final Machine machine;
        private final Map<Constant, Profile.Value> found = new EnumMap<>(Constant.class);
        private final Set<Measure> used = EnumSet.noneOf(Measure.class);

        Work(P2pReport report, Machine machine) {
            this.report = report;
            this.machine = machine;
        }

        Calibration on(Profile base, String name) {
            Network all = Network.ofAllLinks(machine, everyDevice());
            List<Route> nvlinks = ways(all).stream()
                    .filter(way -> way.arcs().stream().allMatch(arc -> all.kind(arc) == Link.Kind.NVLINK))
                    .filter(way -> report.mayAccess(way.from(), way.to()))
                    .toList();
            Network host = Network.ofAllLinks(withoutNvlink(), everyDevice());
            List<Route> staged = ways(host);
            nvlinkEfficiency(all, nvlinks);
            hop(Constant.NVLINK_HOP_US, Measure.LATENCY_PEER, all, nvlinks);
            take(
                    Constant.PCIE_EFFICIENCY,
                    Measure.ONE_WAY_STAGED,
                    NINETIETH_PERCENTILE,
                    staged.stream()
                            .filter(way -> way.arcs().stream().anyMatch(arc -> host.kind(arc) == Link.Kind.PCIE))
                            .toList(),
                    way -> figure(Measure.ONE_WAY_STAGED, way) / narrowestPcie(host, way),
                    "one way through the host's memory, of the PCIe links' bandwidth");
            hop(
                    Constant.PCIE_HOP_US,
                    Measure.LATENCY_STAGED,
                    host,
                    staged.stream().filter(Route::throughSocket).toList());
            duplex(staged);
            memory();
            Map<Constant, Profile.Value> values = new EnumMap<>(base.constants());
            values.replaceAll((constant, value) -> new Profile.Value(
                    value.value(), "not measured; taken from " + base.name() + ": " + value.source()));
            values.putAll(found);
            Set<Measure> unused = EnumSet.copyOf(report.matrices().keySet());
            unused.remove(Measure.ACCESS);
            unused.removeAll(used);
            return new Calibration(new Profile(name, values), List.copyOf(found.keySet()), List.copyOf(unused));
        }

        private int[] everyDevice() {
            return IntStream.range(0, machine.size()).toArray();
        }

        private Machine withoutNvlink() {
            return new Machine(
                    machine.name(),
                    machine.devices(),
                    machine.hubs(),
                    machine.links().stream()
                            .filter(link -> !link.kind().isNvLinkClass())
                            .toList(),
                    List.of(),
                    List.of());
        }

        private List<Route> ways(Network network) {
            Detours detours = new Detours(network);
            List<Route> ways = new ArrayList<>();
            for (int from = 0; from < network.ranks(); from++) {
                for (int to = 0; to < network.ranks(); to++) {
                    List<Integer> nodes = from == to ? null : detours.path(from, to);
                    if (nodes != null) {
                        ways.add(way(network, nodes));
                    }
                }
            }
            return ways;
        }

        private Route way(Network network, List<Integer> nodes) {
            List<Integer> arcs = IntStream.range(1, nodes.size())
                    .map(hop -> network.arc(nodes.get(hop - 1), nodes.get(hop)))
                    .boxed()
                    .toList();
            boolean socket = IntStream.range(1, nodes.size() - 1)
                    .anyMatch(at -> network.node(nodes.get(at)).kind() == Network.Kind.SOCKET);
            return new Route(nodes.getFirst(), nodes.getLast(), arcs, socket);
        }

        private void nvlinkEfficiency(Network network, List<Route> ways) {
            boolean both = report.matrix(Measure.BOTH_WAYS_PEER).isPresent();
            Measure measure = both ? Measure.BOTH_WAYS_PEER : Measure.ONE_WAY_PEER;
            take(
                    Constant.NVLINK_EFFICIENCY,
                    measure,
                    NINETIETH_PERCENTILE,
                    ways,
                    way -> figure(measure, way) / narrowest(network, way) / (both ? 2 : 1),
                    (both ? "both ways at once, of twice" : "one way, of") + " the NVLinks' bandwidth");
        }

        private void hop(Constant constant, Measure measure, Network network, List<Route> ways) {
            take(
                    constant,
                    measure,
                    MEDIAN,
                    ways,
                    way -> {
                        double stated = way.arcs().stream()
                                .mapToDouble(network::latencyUs)
                                .sum();
                        return (figure(measure, way) - stated) / way.arcs().size();
                    },
                    "us of a small copy beyond the links' latencies, per hop");
        }

        private void duplex(List<Route> ways) {
            if (report.matrix(Measure.ONE_WAY_STAGED).isPresent()) {
                take(
                        Constant.HOST_DUPLEX,
                        Measure.BOTH_WAYS_STAGED,
                        MEDIAN,
                        ways.stream()
                                .filter(way -> isReported(Measure.ONE_WAY_STAGED, way))
                                .toList(),
                        way -> {
                            double ratio = figure(Measure.BOTH_WAYS_STAGED, way) / figure(Measure.ONE_WAY_STAGED, way);
                            return Math.min(1, way.throughSocket() ? ratio / 2 : ratio);
                        },
                        "both ways at once through the host's memory, of twice one way, or of one way between GPUs"
                                + " below one switch, which share the link above it");
            }
        }

        private void memory() {
            for (Measure measure : List.of(Measure.ONE_WAY_PEER, Measure.ONE_WAY_STAGED, Measure.BOTH_WAYS_PEER)) {
                Optional<PairMatrix> matrix = report.matrix(measure);
                if (matrix.isPresent()) {
                    double[] own = IntStream.range(0, matrix.get().rows())
                            .mapToDouble(device -> matrix.get().get(device, device))
                            .sorted()
                            .toArray();
                    put(Constant.REDUCE_GBS, MEDIAN, own, "GB/s of copies within a device, read and written");
                    return;
                }
            }
        }

        private boolean isReported(Measure measure, Route way) {
            Optional<PairMatrix> matrix = report.matrix(measure);
            return matrix.isPresent()
                    && way.from() < matrix.get().rows()
                    && matrix.get().get(way.from(), way.to()) > 0;
        }

        private double figure(Measure measure, Route way) {
            return report.matrix(measure).orElseThrow().get(way.from(), way.to());
        }

        private static double narrowest(Network network, Route way) {
            return way.arcs().stream().mapToDouble(network::gbs).min().orElseThrow();
        }

        private static double narrowestPcie(Network network, Route way) {
            return way.arcs().stream()
                    .filter(arc -> network.kind(arc) == Link.Kind.PCIE)
                    .mapToDouble(network::gbs)
                    .min()
                    .orElseThrow();
        }

        private void take(
                Constant constant,
                Measure measure,
                double quantile,
                List<Route> ways,
                ToDoubleFunction<Route> value,
                String what) {
            double[] values = ways.stream()
                    .filter(way -> isReported(measure, way))
                    .mapToDouble(value)
                    .sorted()
                    .toArray();
            if (values.length > 0) {
                used.add(measure);
                put(constant, quantile, values, what);
            }
        }

        private void put(Constant constant, double quantile, double[] sorted, String what) {
            double value = round(sorted[(int) Math.min(sorted.length - 1.0, Math.floor(quantile * sorted.length))]);
            String source = report.source() + ": " + (quantile > MEDIAN ? "90th percentile" : "median") + " of "
                    + sorted.length + (sorted.length == 1 ? " figure" : " figures") + " from " + round(sorted[0])
                    + " to "
                    + round(sorted[sorted.length - 1]) + ", " + what;
            if (!constant.allows(value)) {
                throw new IllegalArgumentException(constant.key() + " would be " + value + " (" + source
                        + "), and it must be " + constant.allowed() + "; name the machine that was measured");
            }
            found.put(constant, new Profile.Value(value, source));
        }

        private static double round(double value) {
            return Double.parseDouble(String.format(Locale.ROOT, "%.3f", value));
        }
    }
}
