package dev.banyan.study.measured;

import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * The report of p2pBandwidthLatencyTest (of NVIDIA's CUDA samples) on a machine. Immutable and safe for use from any
 * thread.
 *
 * @param source what it was read from
 * @param matrices at least one; all of the same number of devices
 */
public record P2pReport(String source, Map<Measure, PairMatrix> matrices) {
    /** The quantity that a matrix holds. */
    public enum Measure {
        /** 1 where the row's device may access the column's memory. */
        ACCESS("P2P Connectivity"),
        /** Copies one way in GB/s, peer access off: through the host's memory. */
        ONE_WAY_STAGED("Unidirectional P2P=Disabled"),
        /** Copies one way in GB/s, peer access on where it is granted. */
        ONE_WAY_PEER("Unidirectional P2P=Enabled"),
        /** Copies both ways at once, both together, in GB/s, peer access off. */
        BOTH_WAYS_STAGED("Bidirectional P2P=Disabled"),
        /** Copies both ways at once, both together, in GB/s, peer access on where it is granted. */
        BOTH_WAYS_PEER("Bidirectional P2P=Enabled"),
        /** Time of a small copy in us, peer access off. */
        LATENCY_STAGED("P2P=Disabled Latency"),
        /** Time of a small copy in us, peer access on where it is granted. */
        LATENCY_PEER("P2P=Enabled Latency");

        private final String title;

        Measure(String title) {
            this.title = title;
        }

        /** Returns what p2pBandwidthLatencyTest calls its matrix. */
        public String title() {
            return title;
        }
    }

    /**
     * @throws IllegalArgumentException if there is no matrix
     */
    public P2pReport {
        Objects.requireNonNull(source, "source");
        if (matrices.isEmpty()) {
            throw new IllegalArgumentException("a report without a matrix");
        }
        matrices = Collections.unmodifiableMap(new EnumMap<>(matrices));
    }

    /** Number of devices. */
    public int devices() {
        return matrices.values().iterator().next().size();
    }

    /** A matrix, where the report has it. */
    Optional<PairMatrix> matrix(Measure measure) {
        return Optional.ofNullable(matrices.get(measure));
    }

    /** Returns whether the report denies all pairs peer access, and a machine does not. */
    public boolean deniesPeerAccessOf(Machine machine) {
        return !NoPeerAccess.betweenAll(machine)
                && IntStream.range(0, machine.size())
                        .allMatch(a -> IntStream.range(0, a).noneMatch(b -> mayAccess(a, b)));
    }

    /** Returns whether a pair has peer access both ways; a pair that the report leaves out is assumed to have it. */
    boolean mayAccess(int a, int b) {
        PairMatrix access = matrices.get(Measure.ACCESS);
        return access == null || (grants(access, a, b) && grants(access, b, a));
    }

    private static boolean grants(PairMatrix access, int row, int column) {
        return row >= access.rows() || access.get(row, column) > 0;
    }
}
