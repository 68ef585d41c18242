package dev.banyan.study.figures;

import dev.banyan.simulate.Profile;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.training.Gradient;
import dev.banyan.study.training.KeyStore;
import dev.banyan.study.training.KeyStores;
import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Stream;

/** Figure (a): how long push-pulls of one size take that are all in flight, by size. */
public record InFlight(List<Row> rows) {
    public static final List<Integer> COUNTS = List.of(1, 50, 150);
    public static final String NCCL = "NCCL ring";
    public static final String SERVER = "parameter server";
    public static final String SINGLE = "single tree";
    public static final String MULTI = "multi-tree";
    public static final String PACKED = "packed forest";
    public static final List<String> STORES = List.of(NCCL, SERVER, SINGLE, MULTI, PACKED);

    private static final long FIRST_BYTES = 4 << 10;
    private static final long LAST_BYTES = 64 << 20;

    /**
     * The time of some push-pulls of one length.
     *
     * @param inFlight number of push-pulls before the wait
     * @param us time until all are done
     */
    public record Row(String store, int inFlight, long bytes, double us) {}

    public static InFlight of(Machine machine, Profile profile, Runnable afterEach) {
        List<KeyStore> stores = List.of(
                KeyStores.nccl(machine, profile),
                KeyStores.parameterServer(machine, profile),
                KeyStores.trees(SINGLE, machine, profile, Long.MAX_VALUE),
                KeyStores.trees(MULTI, machine, profile, 0),
                KeyStores.packedForest(machine, profile));
        List<Row> rows = new ArrayList<>();
        for (int inFlight : COUNTS) {
            for (KeyStore store : stores) {
                for (long bytes = FIRST_BYTES; bytes <= LAST_BYTES; bytes *= 2) {
                    Gradient gradient = new Gradient(bytes / Gradient.ELEMENT_BYTES, 0);
                    double[] done = store.doneUs(Collections.nCopies(inFlight, gradient));
                    rows.add(new Row(
                            store.name(),
                            inFlight,
                            bytes,
                            Arrays.stream(done).max().orElseThrow()));
                }
                afterEach.run();
            }
        }
        return new InFlight(rows);
    }

    public static int steps() {
        return COUNTS.size() * STORES.size();
    }

    public double us(String store, int inFlight, long bytes) {
        return curve(store, inFlight)
                .filter(row -> row.bytes() == bytes)
                .findFirst()
                .orElseThrow()
                .us();
    }

    /** Returns the times of a store by size. */
    public Stream<Row> curve(String store, int inFlight) {
        return rows.stream()
                .filter(row -> row.inFlight() == inFlight && row.store().equals(store));
    }

    /** The stores from the fastest to the slowest. */
    public List<String> order(int inFlight, long bytes) {
        return STORES.stream()
                .sorted((a, b) -> Double.compare(us(a, inFlight, bytes), us(b, inFlight, bytes)))
                .toList();
    }

    /**
     * Returns the number of elements at which the multi-tree's curve falls below the single tree's, between two sizes
     * by power laws.
     */
    public OptionalLong crossover(int inFlight) {
        List<Row> single = curve(SINGLE, inFlight).toList();
        List<Row> multi = curve(MULTI, inFlight).toList();
        for (int i = 1; i < single.size(); i++) {
            double before = Math.log(multi.get(i - 1).us() / single.get(i - 1).us());
            double after = Math.log(multi.get(i).us() / single.get(i).us());
            if (before > 0 && after <= 0) {
                double bytes = single.get(i - 1).bytes() * Math.pow(2, before / (before - after));
                return OptionalLong.of(Math.round(bytes / Gradient.ELEMENT_BYTES));
            }
        }
        return OptionalLong.empty();
    }

    public List<String> csv() {
        return Stream.concat(
                        Stream.of("store,in_flight,bytes,time_us"),
                        rows.stream()
                                .map(row -> Numbers.format(
                                        "%s,%d,%d,%.3f", row.store(), row.inFlight(), row.bytes(), row.us())))
                .toList();
    }
}
