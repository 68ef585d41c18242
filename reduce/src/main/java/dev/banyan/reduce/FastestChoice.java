package dev.banyan.reduce;

import dev.banyan.reduce.algorithm.CollectiveAlgorithm;
import dev.banyan.reduce.algorithm.CollectiveRequest;
import dev.banyan.reduce.algorithm.TreeAlgorithm;
import dev.banyan.reduce.type.Collective;
import dev.banyan.trees.packing.LogicalLink;
import dev.banyan.trees.packing.PackedTree;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Finds the algorithm and the length of chunks that a cost model says take the least time.
 *
 * <p>Answers are found once for all sizes of a sixteenth of an octave, at its middle: within it no time
 * changes by more than 5%, nor the ratio of two. Candidates are tried in the order of a time that they can't beat: what
 * the busiest link takes for all bytes, or a call of one element, if that is longer. Those whose bound is above the
 * best so far are left out. A candidate is tried with 1, 2, 4, ... pieces of the longest slice, until three more
 * doublings didn't help, and takes the fewest that are within 1% of the best. Where pieces are many, a time is taken
 * from two shorter calls with chunks of the same length: once the pipelines are full each further piece takes the same
 * time.
 *
 * <p>The same question has the same answer, whatever was asked before. Not safe for use from several threads at
 * once.
 */
final class FastestChoice {
    private static final int BUCKETS_PER_OCTAVE = 16;
    /** A chunk that is shorter costs more to start than to send. */
    private static final long LEAST_CHUNK = 4 << 10;
    /** Slices are cut on multiples of so many bytes, so that a slice may be so much longer than its share. */
    private static final int UNIT = 64;
    private static final int PATIENCE = 3;
    /** Fewer pieces are worth so much more time: each costs a step that the model may not know enough of. */
    private static final double NEARLY = 1.01;
    /** Steps that the shorter of two calls should have. */
    private static final int STEPS = 12_000;
    private static final int LEAST_STEADY = 16;
    private static final int MOST_STEADY = 256;
    /** Numbers of trees that are worth trying where more reach a higher rate: each costs launches. */
    private static final int[] FEW = {4, 1};
    /** Above, it takes long to find few trees. */
    private static final int MOST_RANKS_OF_FEW = 16;

    private final CostModel model;
    private final Algorithms algorithms;
    private final Prices prices;
    private final int ranks;
    private final Map<Question, Answer> answers = new HashMap<>();
    private final Map<Task, List<Choice>> fewer = new HashMap<>();

    private record Question(AlgorithmChoice algorithm, int maxTrees, CollectiveRequest typical) {}

    /** What packings are made for. */
    private record Task(Collective collective, int root) {}

    /** A choice and a time in us that it can't beat. */
    private record Bounded(Choice choice, double leastUs) {}

    /** Pieces of the longest slice, or 0 where the request says how long chunks are. */
    private record Answer(int pieces, double us) {}

    FastestChoice(CostModel model, Algorithms algorithms, Prices prices, int ranks) {
        this.model = model;
        this.algorithms = algorithms;
        this.prices = prices;
        this.ranks = ranks;
    }

    /** The fastest of some algorithms; packed trees may be fewer than are best for long calls. */
    Choice of(List<AlgorithmChoice> candidates, CollectiveRequest request) {
        CollectiveRequest typical = typical(request);
        List<Bounded> bounded = candidates.stream()
                .flatMap(candidate -> variants(candidate, request))
                .map(choice -> new Bounded(choice, leastUs(choice, typical)))
                .sorted(Comparator.comparingDouble(Bounded::leastUs))
                .toList();
        Choice fastest = bounded.getFirst().choice();
        double least = Double.POSITIVE_INFINITY;
        for (Bounded candidate : bounded) {
            if (candidate.leastUs() >= least) {
                break;
            }
            double us = answer(candidate.choice(), request).us();
            if (us < least) {
                fastest = candidate.choice();
                least = us;
            }
        }
        return fastest;
    }

    private Stream<Choice> variants(AlgorithmChoice candidate, CollectiveRequest request) {
        Stream<Choice> whole = Stream.of(Choice.of(candidate));
        return candidate == AlgorithmChoice.PACKING && ranks <= MOST_RANKS_OF_FEW
                ? Stream.concat(
                        whole,
                        fewer.computeIfAbsent(new Task(request.collective(), request.root()), this::fewer).stream())
                : whole;
    }

    /** Packings of fewer trees than the best, each of another number. */
    private List<Choice> fewer(Task task) {
        List<Choice> choices = new ArrayList<>();
        int more = trees(Choice.of(AlgorithmChoice.PACKING), task);
        for (int most : FEW) {
            Choice choice = new Choice(AlgorithmChoice.PACKING, most, Long.MAX_VALUE);
            int trees = trees(choice, task);
            if (trees < more) {
                choices.add(choice);
                more = trees;
            }
        }
        return choices;
    }

    private int trees(Choice choice, Task task) {
        return algorithms.get(choice).trees(task.collective(), task.root()).size();
    }

    private double leastUs(Choice choice, CollectiveRequest typical) {
        CollectiveRequest one = typical(sized(typical, 1, Long.MAX_VALUE));
        return Math.max(
                model.leastUs(prices.cost(choice, typical), typical.bytes(ranks)),
                answer(choice, one).us());
    }

    /** The same choice with the best length of chunks. */
    Choice cut(Choice choice, CollectiveRequest request) {
        int pieces = answer(choice, request).pieces();
        return pieces == 0
                ? choice.withChunkBytes(request.chunkBytes())
                : choice.withChunkBytes(chunkBytes(slice(choice, request), pieces));
    }

    /** Time in us of a choice, by the length of its chunks or else the best. */
    double us(Choice choice, CollectiveRequest request) {
        return answer(choice, choice.cuts() ? sized(request, request.count(), choice.chunkBytes()) : request)
                .us();
    }

    private Answer answer(Choice choice, CollectiveRequest request) {
        CollectiveRequest typical = typical(request);
        return answers.computeIfAbsent(
                new Question(choice.algorithm(), choice.maxTrees(), typical), question -> find(choice, typical));
    }

    /** The request that stands for those of nearly its size. */
    private CollectiveRequest typical(CollectiveRequest request) {
        double bucket = Math.rint(
                BUCKETS_PER_OCTAVE * StrictMath.log((double) Math.max(1, request.bytes(ranks))) / StrictMath.log(2));
        double bytes = StrictMath.pow(2, bucket / BUCKETS_PER_OCTAVE);
        long bytesOfOne = sized(request, 1, request.chunkBytes()).bytes(ranks);
        return sized(request, Math.max(1, Math.round(bytes / bytesOfOne)), request.chunkBytes());
    }

    private static CollectiveRequest sized(CollectiveRequest request, long count, long chunkBytes) {
        return new CollectiveRequest(
                request.collective(), request.root(), count, request.elementBytes(), request.inPlace(), chunkBytes);
    }

    private Answer find(Choice choice, CollectiveRequest request) {
        if (request.chunkBytes() < Long.MAX_VALUE) {
            double pieces = Math.ceil(slice(choice, request) / (double) request.chunkBytes());
            return new Answer(0, predict(choice, request, (int) Math.max(1, pieces), request.chunkBytes()));
        }
        double slice = slice(choice, request);
        List<Answer> tried = new ArrayList<>();
        double least = Double.POSITIVE_INFINITY;
        int misses = 0;
        for (int pieces = 1; misses < PATIENCE && (pieces == 1 || slice / pieces >= LEAST_CHUNK); pieces *= 2) {
            double us = predict(choice, request, pieces, chunkBytes(slice, pieces));
            tried.add(new Answer(pieces, us));
            misses = us < least ? 0 : misses + 1;
            least = Math.min(least, us);
        }
        int best = tried.stream()
                .min(Comparator.comparingDouble(Answer::us))
                .orElseThrow()
                .pieces();
        for (int between : new int[] {best - best / 4, best + best / 2}) {
            if (best > 1 && slice / between >= LEAST_CHUNK) {
                double us = predict(choice, request, between, chunkBytes(slice, between));
                tried.add(new Answer(between, us));
                least = Math.min(least, us);
            }
        }
        double enough = least * NEARLY;
        return tried.stream()
                .filter(answer -> answer.us() <= enough)
                .min(Comparator.comparingInt(Answer::pieces))
                .orElseThrow();
    }

    private double predict(Choice choice, CollectiveRequest request, int pieces, long chunkBytes) {
        TreeAlgorithm algorithm = algorithms.get(choice);
        CollectiveAlgorithm carrier = algorithms.ordered(algorithm);
        List<LogicalLink> links = algorithms.links(choice, request);
        int steady = Math.clamp(
                STEPS / (2L * ranks * algorithm.trees(request.collective(), request.root()).size()),
                LEAST_STEADY,
                MOST_STEADY);
        if (pieces <= 2 * steady) {
            return model.predictedUs(carrier.schedule(sized(request, request.count(), chunkBytes)), links);
        }
        double perPiece = request.count() / (slice(choice, request) / chunkBytes);
        long few = Math.round(steady * perPiece);
        long more = Math.round(2 * steady * perPiece);
        double usOfFew = model.predictedUs(carrier.schedule(sized(request, few, chunkBytes)), links);
        double usOfMore = model.predictedUs(carrier.schedule(sized(request, more, chunkBytes)), links);
        return usOfMore + (usOfMore - usOfFew) * (request.count() - more) / (more - few);
    }

    /** Bytes of the longest slice. */
    private double slice(Choice choice, CollectiveRequest request) {
        double share = algorithms.get(choice).trees(request.collective(), request.root()).stream()
                .map(PackedTree::share)
                .mapToDouble(Number::doubleValue)
                .max()
                .orElseThrow();
        return share * request.bytes(ranks);
    }

    private static long chunkBytes(double slice, int pieces) {
        return (long) Math.ceil((slice + UNIT) / pieces / UNIT) * UNIT;
    }
}
