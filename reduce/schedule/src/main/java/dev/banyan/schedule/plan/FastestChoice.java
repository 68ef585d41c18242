package dev.banyan.schedule.plan;

import dev.banyan.config.internal.RecentlyUsed;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.packing.ForestCost;
import dev.banyan.trees.packing.PackedTree;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Finds the algorithm and the length of chunks that a cost model says take the least time.
 *
 * <p>Candidates are tried at the exact size of a call: if pairs of ranks share links, a few bytes more can decide which
 * copies overlap, and change the time by a quarter. Each candidate has a lower bound: the time of the busiest link for
 * all bytes, where the model knows one, or that of a call of one element if it is longer. Candidates are tried in the
 * order of their bounds; those whose bound is above the best time so far are skipped. A candidate is tried with one
 * chunk for each tree's slice and then with chunks of all powers of two from long to short. The search ends when two
 * lengths were much slower than the best, when four in a row were no better than the length before each, or when a full
 * pipeline could not reach the best time so far. The candidate takes the longest chunks that are within 1% of its best.
 *
 * <p>Where the {@linkplain CostModel#dependsOnChunks length of chunks does not matter}, it stays open.
 *
 * <p>If there are many chunks, the time is extrapolated from two shorter calls with chunks of the same length, since
 * each further chunk takes the same time when the pipelines are full. Such a pair serves calls of all sizes. Where
 * copies share links, times become steady late: longer calls confirm the length that is taken. No such time is below
 * the bound of the candidate.
 *
 * <p>The result does not depend on earlier calls. Not safe for use from several threads at once.
 */
final class FastestChoice {
    /** Shortest chunk that is tried, in bytes: a shorter one costs more to start than to send. */
    private static final int LEAST_CHUNK_BYTES = 4 << 10;
    /** Slices are cut at multiples of this many bytes, so a slice may be this much longer than its share. */
    private static final int SLICE_UNIT_BYTES = 64;
    /** A chunk length is much slower if its time exceeds the best time by this factor. */
    private static final double MUCH_SLOWER_FACTOR = 1.12;
    /** The search ends after this many lengths in a row that are much slower. */
    private static final int MOST_MUCH_SLOWER = 2;
    /** The search ends after this many lengths in a row that are no better than the one before. */
    private static final int MOST_NO_BETTER = 4;
    /** A candidate is dropped if its steady-state time exceeds the best time by this factor. */
    private static final double DROP_FACTOR = 1.05;
    /**
     * Longer chunks are taken if their time exceeds the best by no more than this factor: each chunk costs a step, of
     * which the model may not know enough.
     */
    private static final double LONGER_CHUNKS_FACTOR = 1.01;
    /** Chunks of the shorter of two calls per stage of the pipeline: it must be full before the call ends. */
    private static final int STEADY_CHUNKS_PER_STAGE = 2;
    /** Least number of chunks of the shorter call. Where links are shared, times become steady later. */
    private static final int LEAST_STEADY_CHUNKS = 32;
    /** Greatest number of chunks of the shorter call. */
    private static final int MOST_STEADY_CHUNKS = 256;
    /** The best length of chunks is tried again with calls longer by this factor. */
    private static final int CONFIRMING_FACTOR = 4;
    /** Steps that the shorter call should have. */
    private static final int STEADY_STEPS = 8_000;
    /** Numbers of trees that are tried where more trees reach a higher rate: each tree costs launches. */
    private static final int[] FEWER_TREES = {8, 4, 2, 1};
    /** With more ranks than this, finding few trees takes too long. */
    private static final int MOST_RANKS_OF_FEWER_TREES = 16;
    /** Elements of a call that uses all trees. */
    private static final long SAMPLE_COUNT = 1 << 20;
    /** The choice for one size needs some forty times; a model's training step has some hundred sizes. */
    static final int KEPT_TIMES = 4096;

    private final CostModel model;
    private final Algorithms algorithms;
    private final Prices prices;
    private final int ranks;
    private final RecentlyUsed<Question, Double> times = new RecentlyUsed<>(KEPT_TIMES);
    private final RecentlyUsed<Question, Timed> answers = new RecentlyUsed<>(KEPT_TIMES);
    private final RecentlyUsed<Question, Steady> steady = new RecentlyUsed<>(KEPT_TIMES);
    /** Bounded by the number of algorithms, collectives, roots and sizes of elements. */
    private final Map<Variant, Trees> trees = new HashMap<>();

    private final Map<Task, List<AlgorithmConfig>> fewer = new HashMap<>();

    /** @param choice with an open length of chunks */
    private record Question(AlgorithmConfig choice, CollectiveRequest request) {}

    /** The key of a packing. */
    private record Task(Collective collective, int root) {}

    /** @param choice with an open length of chunks */
    private record Variant(AlgorithmConfig choice, Task task, int elementBytes, boolean inPlace) {}

    /**
     * The figures of trees that do not depend on the size of a call.
     *
     * @param longestShare the longest share of a tree in all data
     * @param leastUsPerByte the lower bound of all schedules of these trees
     * @param dependsOnChunks whether the length of chunks could change times
     */
    private record Trees(int number, double longestShare, int stages, double leastUsPerByte, boolean dependsOnChunks) {}

    /** A choice and the lower bound of its time in us. */
    private record Bounded(AlgorithmConfig choice, double leastUs) {}

    /** A length of chunks and the time in us. */
    private record Timed(long chunkBytes, double us) {}

    /** The times in us of a call of {@code chunks} chunks for each tree and of a call twice as long. */
    private record Steady(int chunks, double us, double twiceUs) {
        double us(double of) {
            return twiceUs + (twiceUs - us) * (of / chunks - 2);
        }
    }

    FastestChoice(CostModel model, Algorithms algorithms, Prices prices, int ranks) {
        this.model = model;
        this.algorithms = algorithms;
        this.prices = prices;
        this.ranks = ranks;
    }

    /** Returns the fastest of some algorithms; it may limit the number of packed trees. */
    AlgorithmConfig of(List<AlgorithmChoice> candidates, CollectiveRequest request) {
        List<Bounded> bounded = candidates.stream()
                .flatMap(candidate -> variants(candidate, request))
                .map(choice -> new Bounded(choice, leastUs(choice, request)))
                .sorted(Comparator.comparingDouble(Bounded::leastUs))
                .toList();
        AlgorithmConfig fastest = bounded.getFirst().choice();
        double least = Double.POSITIVE_INFINITY;
        for (Bounded candidate : bounded) {
            if (candidate.leastUs() >= least) {
                break;
            }
            List<Timed> tried = sweep(candidate.choice(), request, least);
            if (best(tried).us() < least) {
                double us = confirmed(candidate.choice(), request, tried).us();
                if (us < least) {
                    fastest = candidate.choice();
                    least = us;
                }
            }
        }
        return fastest;
    }

    /** Returns the number of predicted times that are kept. */
    int keptTimes() {
        return times.size();
    }

    private Stream<AlgorithmConfig> variants(AlgorithmChoice candidate, CollectiveRequest request) {
        Stream<AlgorithmConfig> whole = Stream.of(AlgorithmConfig.of(candidate));
        return candidate == AlgorithmChoice.PACKING && ranks <= MOST_RANKS_OF_FEWER_TREES
                ? Stream.concat(
                        whole,
                        fewer.computeIfAbsent(new Task(request.collective(), request.root()), this::fewer).stream())
                : whole;
    }

    /** Returns packings of fewer trees than the best packing, each of another number. */
    private List<AlgorithmConfig> fewer(Task task) {
        List<AlgorithmConfig> choices = new ArrayList<>();
        int more = algorithms
                .get(AlgorithmChoice.PACKING)
                .trees(task.collective(), task.root())
                .size();
        for (int most : FEWER_TREES) {
            if (most < more) {
                AlgorithmConfig choice =
                        AlgorithmConfig.of(AlgorithmChoice.PACKING).withMaxTrees(most);
                choices.add(choice);
                more = algorithms
                        .get(choice)
                        .trees(task.collective(), task.root())
                        .size();
            }
        }
        return choices;
    }

    private double leastUs(AlgorithmConfig choice, CollectiveRequest request) {
        return Math.max(
                trees(choice, request).leastUsPerByte() * request.bytes(ranks),
                time(choice, sized(request, 1, Long.MAX_VALUE)));
    }

    /** Returns the same choice with the best length of chunks; nothing is predicted where there is no other. */
    AlgorithmConfig cut(AlgorithmConfig choice, CollectiveRequest request) {
        return choice.withChunkBytes(
                hasOneLength(choice, request)
                        ? request.chunkBytes()
                        : answer(choice, request).chunkBytes());
    }

    private boolean hasOneLength(AlgorithmConfig choice, CollectiveRequest request) {
        return request.chunkBytes() < Long.MAX_VALUE || !trees(choice, request).dependsOnChunks();
    }

    /** Returns the time in us of a choice, with its length of chunks or, if that is open, the best one. */
    double us(AlgorithmConfig choice, CollectiveRequest request) {
        return choice.cuts()
                ? time(choice, sized(request, request.count(), choice.chunkBytes()))
                : answer(choice, request).us();
    }

    private static Question question(AlgorithmConfig choice, CollectiveRequest request) {
        return new Question(choice.whole(), request);
    }

    private Timed answer(AlgorithmConfig choice, CollectiveRequest request) {
        return answers.get(question(choice, request), () -> find(choice, request));
    }

    private Timed find(AlgorithmConfig choice, CollectiveRequest request) {
        List<Timed> tried = sweep(choice, request, Double.POSITIVE_INFINITY);
        Timed best = longest(tried);
        double slice = slice(choice, request);
        if (request.chunkBytes() < Long.MAX_VALUE || best.chunkBytes() >= slice) {
            return best;
        }
        // A last chunk as long as the others is never slower, unless copies share a link.
        tried.add(timed(choice, request, evenly(slice, (int) Math.ceil(slice / best.chunkBytes()))));
        return confirmed(choice, request, tried);
    }

    /**
     * Returns the best of some lengths by times that longer calls confirm.
     *
     * @param tried receives the confirmed times
     */
    private Timed confirmed(AlgorithmConfig choice, CollectiveRequest request, List<Timed> tried) {
        int few = steadyChunks(trees(choice, request));
        double slice = slice(choice, request);
        Set<Timed> confirmed = new HashSet<>();
        Timed best = longest(tried);
        // A choice that was simulated whole needs no longer simulation.
        while (slice / best.chunkBytes() > 2 * few && !confirmed.contains(best)) {
            CollectiveRequest cut = sized(request, request.count(), best.chunkBytes());
            Timed longer = new Timed(best.chunkBytes(), predict(choice, cut, CONFIRMING_FACTOR * few));
            confirmed.add(longer);
            tried.set(tried.indexOf(best), longer);
            best = longest(tried);
        }
        return best;
    }

    private static Timed best(List<Timed> tried) {
        return tried.stream().min(Comparator.comparingDouble(Timed::us)).orElseThrow();
    }

    /** Returns the longest chunks whose time is close to the least time. */
    private static Timed longest(List<Timed> tried) {
        double enough = LONGER_CHUNKS_FACTOR * best(tried).us();
        return tried.stream()
                .filter(timed -> timed.us() <= enough)
                .max(Comparator.comparingLong(Timed::chunkBytes))
                .orElseThrow();
    }

    /**
     * Tries lengths of chunks, the longest first, and returns those that were tried.
     *
     * @param leastUs the best time of other choices; the search ends when it cannot be reached
     */
    private List<Timed> sweep(AlgorithmConfig choice, CollectiveRequest request, double leastUs) {
        List<Timed> tried = new ArrayList<>();
        if (hasOneLength(choice, request)) {
            tried.add(timed(choice, request, request.chunkBytes()));
            return tried;
        }
        double slice = slice(choice, request);
        int stages = trees(choice, request).stages();
        tried.add(timed(choice, request, evenly(slice, 1)));
        double best = tried.getFirst().us();
        double before = best;
        int muchSlower = 0;
        int noBetter = 0;
        long longest = Long.highestOneBit(Math.max(1, (long) Math.ceil(slice) - 1));
        for (long length = longest; length >= LEAST_CHUNK_BYTES; length /= 2) {
            Timed next = timed(choice, request, length);
            tried.add(next);
            noBetter = next.us() * LONGER_CHUNKS_FACTOR > before ? noBetter + 1 : 0;
            best = Math.min(best, next.us());
            before = next.us();
            muchSlower = next.us() > MUCH_SLOWER_FACTOR * best ? muchSlower + 1 : 0;
            if (muchSlower == MOST_MUCH_SLOWER
                    || noBetter == MOST_NO_BETTER
                    || ofFullPipeline(next.us(), slice / length, stages) > DROP_FACTOR * leastUs) {
                break;
            }
        }
        return tried;
    }

    /**
     * Returns the lower bound of the time with shorter chunks. A pipeline of s stages that carries c chunks takes (s -
     * 1) / c longer than a full one; twice that for slices of unequal length, which fill it later.
     */
    private static double ofFullPipeline(double us, double chunks, int stages) {
        return chunks < 2 ? 0 : us * chunks / (chunks + 2 * stages);
    }

    private Timed timed(AlgorithmConfig choice, CollectiveRequest request, long chunkBytes) {
        return new Timed(chunkBytes, time(choice, sized(request, request.count(), chunkBytes)));
    }

    /** Returns the time in us of a choice with the length of chunks of the request. */
    private double time(AlgorithmConfig choice, CollectiveRequest request) {
        return times.get(
                question(choice, request), () -> predict(choice, request, steadyChunks(trees(choice, request))));
    }

    /** @param few chunks of the shorter of two calls that are simulated if a call has many more */
    private double predict(AlgorithmConfig choice, CollectiveRequest request, int few) {
        if (!trees(choice, request).dependsOnChunks()) {
            return simulate(choice, request);
        }
        double chunks = slice(choice, request) / request.chunkBytes();
        return chunks <= 2 * few
                ? simulate(choice, request)
                : Math.max(
                        steady(choice, request, few).us(chunks),
                        trees(choice, request).leastUsPerByte() * request.bytes(ranks));
    }

    private int steadyChunks(Trees of) {
        int least = Math.max(LEAST_STEADY_CHUNKS, STEADY_CHUNKS_PER_STAGE * of.stages());
        return Math.clamp(STEADY_STEPS / (2L * ranks * of.number()), least, Math.max(least, MOST_STEADY_CHUNKS));
    }

    private Steady steady(AlgorithmConfig choice, CollectiveRequest request, int chunks) {
        // The key has the length of the shorter call instead of that of the request.
        return steady.get(question(choice, sized(request, chunks, request.chunkBytes())), () -> {
            double bytes =
                    chunks * request.chunkBytes() / trees(choice, request).longestShare();
            return new Steady(
                    chunks, simulate(choice, ofBytes(request, bytes)), simulate(choice, ofBytes(request, 2 * bytes)));
        });
    }

    private double simulate(AlgorithmConfig choice, CollectiveRequest request) {
        PlannedSchedule planned = planned(choice, request);
        return model.predictedUs(planned.schedule(), planned.links());
    }

    private PlannedSchedule planned(AlgorithmConfig choice, CollectiveRequest request) {
        return new PlannedSchedule(choice, algorithms.get(choice).schedule(request), algorithms.links(choice, request));
    }

    private CollectiveRequest ofBytes(CollectiveRequest request, double bytes) {
        long bytesOfOne = sized(request, 1, request.chunkBytes()).bytes(ranks);
        return sized(request, Math.max(1, Math.round(bytes / bytesOfOne)), request.chunkBytes());
    }

    private static CollectiveRequest sized(CollectiveRequest request, long count, long chunkBytes) {
        return new CollectiveRequest(
                request.collective(), request.root(), count, request.elementBytes(), request.inPlace(), chunkBytes);
    }

    private Trees trees(AlgorithmConfig choice, CollectiveRequest request) {
        return trees.computeIfAbsent(
                new Variant(
                        choice.whole(),
                        new Task(request.collective(), request.root()),
                        request.elementBytes(),
                        request.inPlace()),
                variant -> describe(choice, request));
    }

    private Trees describe(AlgorithmConfig choice, CollectiveRequest request) {
        List<PackedTree> all = algorithms.get(choice).trees(request.collective(), request.root());
        double longest = all.stream()
                .map(PackedTree::share)
                .mapToDouble(Number::doubleValue)
                .max()
                .orElseThrow();
        ForestCost cost = prices.cost(choice, request);
        PlannedSchedule sample = planned(choice, sized(request, SAMPLE_COUNT, Long.MAX_VALUE));
        return new Trees(
                all.size(),
                longest,
                cost.stages(),
                model.leastUsPerByte(cost, sample.schedule()),
                model.dependsOnChunks(sample.schedule(), sample.links()));
    }

    /** Returns the bytes of the longest slice. */
    private double slice(AlgorithmConfig choice, CollectiveRequest request) {
        return trees(choice, request).longestShare() * request.bytes(ranks);
    }

    /** Returns the length of the chunks if a slice is cut into so many. */
    private static long evenly(double slice, int chunks) {
        return (long) Math.ceil((slice + SLICE_UNIT_BYTES) / chunks / SLICE_UNIT_BYTES) * SLICE_UNIT_BYTES;
    }
}
