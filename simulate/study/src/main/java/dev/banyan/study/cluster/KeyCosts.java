package dev.banyan.study.cluster;

import dev.banyan.study.training.Gradient;
import java.util.HashMap;
import java.util.Map;

/**
 * The time of a key's hierarchical allreduce: reduce inside each machine to its leaders, allreduce between leaders of
 * different machines, broadcast inside. Leaders' data pass through the host's memory. A key is cut into equal pieces of
 * up to 4 MiB that follow one another through the three phases. Not safe for use from several threads at once: results
 * are kept.
 *
 * <p>The phases inside are simulated on the machine's links; those between machines are closed forms, so that a
 * cluster's size costs nothing but memory of its size.
 */
public final class KeyCosts {
    private static final long PIECE_BYTES = 4 << 20;

    private final Cluster cluster;
    private final AcrossMachines across;
    private final InsideMachine inside;
    private final Map<Long, KeyCost> known = new HashMap<>();

    /**
     * One key.
     *
     * @param pieces that it is cut into
     * @param leadUs until the first piece may leave the machine
     * @param transferUs for which the NICs are busy
     * @param restUs beside that, from the lead's end until the last piece came back from the network
     * @param tailUs from then on until all devices have it
     */
    record KeyCost(int pieces, double leadUs, double transferUs, double restUs, double tailUs) {
        /** Between the lead's end and the tail's begin. */
        double acrossUs() {
            return transferUs + restUs;
        }

        double us() {
            return leadUs + acrossUs() + tailUs;
        }
    }

    /**
     * @param cluster the machines
     * @param rule what carries allreduces between them
     */
    public KeyCosts(Cluster cluster, AllReduceRule rule) {
        this(
                cluster,
                rule,
                new InsideMachine(
                        cluster.machine(), cluster.profile(), cluster.fabric().nics()));
    }

    private KeyCosts(Cluster cluster, AllReduceRule rule, InsideMachine inside) {
        this.cluster = cluster;
        across = new AcrossMachines(cluster, rule);
        this.inside = inside;
    }

    /**
     * The costs of another number of these machines, or of another network between them. What is simulated inside a
     * machine is kept for both.
     *
     * @throws IllegalArgumentException if its machines, their profile or their number of NICs are others
     */
    public KeyCosts joined(Cluster other, AllReduceRule rule) {
        if (!other.machine().equals(cluster.machine())
                || !other.profile().equals(cluster.profile())
                || other.fabric().nics() != cluster.fabric().nics()) {
            throw new IllegalArgumentException("a cluster of other machines, "
                    + other.machine().name() + " with " + other.fabric().nics() + " NICs and profile "
                    + other.profile().name());
        }
        return new KeyCosts(other, rule, inside);
    }

    /** The machines. */
    public Cluster cluster() {
        return cluster;
    }

    /**
     * Time of the allreduce of one key and nothing else, in us.
     *
     * @param elements of 4 bytes, at least 1
     */
    public double us(long elements) {
        return cost(elements).us();
    }

    /**
     * Returns the algorithm that carries a key of a size between machines, e.g. {@code ring}, as one piece.
     *
     * @param elements of 4 bytes, at least 1
     */
    public String algorithm(long elements) {
        return across.algorithm((double) elements * Gradient.ELEMENT_BYTES).name();
    }

    double barrierUs() {
        return across.barrierUs();
    }

    KeyCost cost(long elements) {
        return known.computeIfAbsent(elements, this::priced);
    }

    private KeyCost priced(long elements) {
        if (cluster.machines() == 1) {
            return new KeyCost(1, inside.allReduceUs(elements), 0, 0, 0);
        }
        return inPieces(elements, Math.toIntExact(Math.ceilDiv(elements * Gradient.ELEMENT_BYTES, PIECE_BYTES)));
    }

    private KeyCost inPieces(long elements, int pieces) {
        long piece = Math.ceilDiv(elements, (long) pieces);
        double bytes = (double) piece * Gradient.ELEMENT_BYTES;
        double stagingUs =
                bytes / (cluster.host().stagingGbs() * cluster.fabric().nics() * 1e3);
        double lead = inside.reduceUs(piece) + stagingUs;
        double tail = stagingUs + inside.broadcastUs(piece);
        LeaderAllReduce.Cost middle = across.cost(bytes);
        double slowest = Math.max(middle.us(), Math.max(lead, tail));
        double transfer = pieces * middle.transferUs();
        return new KeyCost(pieces, lead, transfer, middle.us() + (pieces - 1) * slowest - transfer, tail);
    }
}
