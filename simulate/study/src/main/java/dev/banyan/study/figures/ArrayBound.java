package dev.banyan.study.figures;

import dev.banyan.simulate.Profile;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.training.Gradient;
import dev.banyan.study.training.KeyStore;
import dev.banyan.study.training.KeyStores;
import dev.banyan.study.training.TrainingStep;
import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Figure (b): what a training step takes with MXNet's trees, by the bound above which keys take all trees. */
public record ArrayBound(List<Row> rows) {
    private static final List<Long> BOUNDS = List.of(
            10_000L,
            30_000L,
            100_000L,
            300_000L,
            1_000_000L,
            3_000_000L,
            10_000_000L,
            30_000_000L,
            100_000_000L,
            300_000_000L);

    /**
     * Times of a step with one bound.
     *
     * @param bound in elements
     * @param stepUs whole step
     * @param communicationUs all keys at once, and nothing else
     */
    public record Row(long bound, double stepUs, double communicationUs) {}

    public static ArrayBound of(Machine machine, Profile profile, TrainingStep step, Runnable afterEach) {
        List<Gradient> gradients = step.elements().stream()
                .map(elements -> new Gradient(elements, 0))
                .toList();
        List<Row> rows = new ArrayList<>();
        for (long bound : BOUNDS) {
            KeyStore trees = KeyStores.trees("trees", machine, profile, bound);
            rows.add(new Row(
                    bound,
                    step.us(trees),
                    Arrays.stream(trees.doneUs(gradients)).max().orElseThrow()));
            afterEach.run();
        }
        return new ArrayBound(rows);
    }

    public static int steps() {
        return BOUNDS.size();
    }

    /** The bound at which the push-pull of all keys is shortest; the first of several. */
    public Row best() {
        return rows.stream()
                .min(Comparator.comparingDouble(Row::communicationUs))
                .orElseThrow();
    }

    public List<String> csv() {
        return Stream.concat(
                        Stream.of("array_bound_elements,step_us,communication_us"),
                        rows.stream()
                                .map(row -> Numbers.format(
                                        "%d,%.3f,%.3f", row.bound(), row.stepUs(), row.communicationUs())))
                .toList();
    }
}
