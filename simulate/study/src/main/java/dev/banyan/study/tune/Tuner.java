package dev.banyan.study.tune;

import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.study.machine.Variants;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * Sweeps algorithms, lengths of chunks and numbers of packed trees over sizes. Each algorithm is tried with shorter
 * and shorter chunks until three more were worse.
 */
public final class Tuner {
    private static final int MAX_WORSE_CHUNK_LENGTHS = 3;
    /** Longer chunks are taken if their time exceeds the least by no more: each chunk costs steps and memory. */
    private static final double LONGER_CHUNKS_FACTOR = 1.01;

    private final Trials trials;
    private final Variants variants;
    private final List<Integer> maxTrees;
    private final List<Found> sizes = new ArrayList<>();

    /**
     * The result at one size.
     *
     * @param bytes the size
     * @param choice what the rules will take
     * @param us its time in us
     * @param best the best of each algorithm that was tried
     * @param apart whether the range of the choice's time overlaps with that of no other algorithm, so that the
     *     choice is the fastest
     */
    public record Found(
            long bytes, AlgorithmConfig choice, double us, Map<AlgorithmChoice, Tried> best, boolean apart) {

        /** The best of an algorithm, which must have been tried. */
        public Tried tried(AlgorithmChoice algorithm) {
            return Objects.requireNonNull(best.get(algorithm));
        }
    }

    /** A choice and its time in us. */
    public record Tried(AlgorithmConfig choice, double us) {}

    public Tuner(Trials trials, Variants variants) {
        this.trials = trials;
        this.variants = variants;
        maxTrees = trials.maxTrees();
    }

    /** Tries the next size, which must be greater than those before. */
    public Found next(long bytes) {
        Map<AlgorithmChoice, Tried> best = new EnumMap<>(AlgorithmChoice.class);
        for (AlgorithmChoice algorithm : trials.algorithms()) {
            best.put(algorithm, best(algorithm, bytes));
        }
        if (!sizes.isEmpty()) {
            AlgorithmConfig before = sizes.getLast().choice();
            Tried again = new Tried(before, trials.us(before, bytes));
            best.merge(before.algorithm(), again, (one, other) -> other.us() < one.us() ? other : one);
        }
        Tried fastest = best.values().stream()
                .min(Comparator.comparingDouble(Tried::us))
                .orElseThrow();
        Tried taken = fastest;
        if (!sizes.isEmpty()) {
            AlgorithmConfig before = sizes.getLast().choice();
            double us = trials.us(before, bytes);
            taken = us <= trials.noise() * fastest.us() ? new Tried(before, us) : fastest;
        }
        for (AlgorithmChoice algorithm : trials.beside()) {
            best.put(algorithm, best(algorithm, bytes));
        }
        Found found = new Found(bytes, taken.choice(), taken.us(), best, isApart(taken.choice(), best, bytes));
        sizes.add(found);
        return found;
    }

    private boolean isApart(AlgorithmConfig taken, Map<AlgorithmChoice, Tried> best, long bytes) {
        double mostUs = trials.range(taken, bytes).mostUs();
        return best.values().stream()
                .map(Tried::choice)
                .filter(other -> other.algorithm() != taken.algorithm())
                .allMatch(other -> trials.range(other, bytes).leastUs() > mostUs);
    }

    private Tried best(AlgorithmChoice algorithm, long bytes) {
        AlgorithmConfig variant = variants.of(algorithm);
        Stream<AlgorithmConfig> tried = algorithm == AlgorithmChoice.PACKING
                ? maxTrees.stream().map(variant::withMaxTrees)
                : Stream.of(variant);
        return tried.map(whole -> best(whole, bytes))
                .min(Comparator.comparingDouble(Tried::us))
                .orElseThrow();
    }

    private Tried best(AlgorithmConfig whole, long bytes) {
        List<Tried> all = new ArrayList<>();
        Tried best = null;
        int misses = 0;
        for (long length : trials.chunkBytes(whole, bytes)) {
            AlgorithmConfig choice = whole.withChunkBytes(length);
            double us = trials.us(choice, bytes);
            misses = best != null && us > best.us() ? misses + 1 : 0;
            all.add(new Tried(choice, us));
            best = best == null || us < best.us() ? all.getLast() : best;
            if (misses == MAX_WORSE_CHUNK_LENGTHS) {
                break;
            }
        }
        double enough = LONGER_CHUNKS_FACTOR * Objects.requireNonNull(best).us();
        Tried tried = all.stream()
                .filter(one -> one.us() <= enough)
                .max(Comparator.comparingLong(one -> one.choice().chunkBytes()))
                .orElseThrow();
        return trials.planned(whole, bytes)
                .map(planned -> new Tried(planned, trials.us(planned, bytes)))
                .filter(planned -> planned.us() < tried.us())
                .orElse(tried);
    }

    /** One rule for each range of sizes with the same choice; ranges meet halfway between two sizes. */
    public SizeRules rules() {
        List<SizeRules.Rule> rules = new ArrayList<>();
        for (int i = 0; i < sizes.size(); i++) {
            AlgorithmConfig choice = sizes.get(i).choice();
            boolean last = i == sizes.size() - 1;
            if (last || !choice.equals(sizes.get(i + 1).choice())) {
                long end = last
                        ? Long.MAX_VALUE
                        : (sizes.get(i).bytes() + sizes.get(i + 1).bytes()) / 2;
                rules.add(new SizeRules.Rule(choice, end));
            }
        }
        return new SizeRules(rules);
    }

    /** Returns the results, by ascending size. */
    public List<Found> sizes() {
        return List.copyOf(sizes);
    }
}
