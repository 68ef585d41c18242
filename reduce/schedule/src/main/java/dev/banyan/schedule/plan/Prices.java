package dev.banyan.schedule.plan;

import dev.banyan.schedule.internal.algorithm.ChunkRule;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.PackedAlgorithm;
import dev.banyan.schedule.internal.algorithm.TreeAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Machine;
import dev.banyan.trees.packing.Direction;
import dev.banyan.trees.packing.ForestCost;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * Predicts the times of algorithms on one machine from its links. Trees are priced once for each collective and root. A
 * ring is no candidate: it cannot exceed the bound that packed trees reach, and the search for it takes long. Not safe
 * for use from several threads at once.
 */
final class Prices {
    /**
     * The time of a further chunk in us, if the backend decides the length of chunks: the launches of a copy and of a
     * kernel on a busy stream. In simulation, {@link ChunkRule} gives nearly the best length with this value.
     */
    static final double CHUNK_OVERHEAD_US = 2.2;

    /** The candidates; of equally fast ones the first is taken. */
    private static final List<AlgorithmChoice> CANDIDATES = List.of(
            AlgorithmChoice.PACKING, AlgorithmChoice.MULTI_TREE, AlgorithmChoice.SINGLE_TREE, AlgorithmChoice.STAR);

    private final Machine machine;
    private final Function<AlgorithmConfig, TreeAlgorithm> algorithms;
    private final Map<Task, ForestCost> costs = new HashMap<>();

    private record Task(AlgorithmConfig choice, Collective collective, int root) {}

    /** @param machine of at least two devices, one per rank */
    Prices(Machine machine, Function<AlgorithmConfig, TreeAlgorithm> algorithms) {
        this.machine = machine;
        this.algorithms = algorithms;
    }

    /** Returns the algorithm with the least predicted time. */
    AlgorithmChoice cheapest(CollectiveRequest request) {
        return cheapest(CANDIDATES, request);
    }

    /** Returns the algorithm with the least predicted time among some, the first of equals. */
    AlgorithmChoice cheapest(List<AlgorithmChoice> candidates, CollectiveRequest request) {
        AlgorithmChoice cheapest = candidates.getFirst();
        double least = Double.POSITIVE_INFINITY;
        for (AlgorithmChoice candidate : candidates) {
            double us = predictedUs(candidate, request);
            if (us < least) {
                cheapest = candidate;
                least = us;
            }
        }
        return cheapest;
    }

    /** Returns the cost of the trees of a request, whatever the length of chunks. */
    ForestCost cost(AlgorithmConfig choice, CollectiveRequest request) {
        return costs.computeIfAbsent(new Task(choice.whole(), request.collective(), request.root()), this::price);
    }

    /** Returns the predicted time of a request in us. */
    double predictedUs(AlgorithmChoice choice, CollectiveRequest request) {
        ForestCost cost = cost(AlgorithmConfig.of(choice), request);
        long bytes = request.bytes(machine.size());
        long chunkBytes = request.chunkBytes() == Long.MAX_VALUE
                ? ChunkRule.chunkBytes(cost, bytes, CHUNK_OVERHEAD_US)
                : request.chunkBytes();
        return cost.predictedUs(bytes, Math.max(1, Math.ceilDiv(bytes / cost.trees(), chunkBytes)));
    }

    private ForestCost price(Task task) {
        TreeAlgorithm algorithm = algorithms.apply(task.choice());
        Direction direction = switch (task.collective()) {
            case ALL_REDUCE -> Direction.UP_AND_DOWN;
            case REDUCE, REDUCE_SCATTER -> Direction.UP;
            case BROADCAST, ALL_GATHER -> Direction.DOWN;
        };
        return algorithm instanceof PackedAlgorithm packed
                ? ForestCost.of(packed.packing(task.collective(), task.root()), direction)
                : ForestCost.of(
                        machine,
                        IntStream.range(0, machine.size()).toArray(),
                        algorithm.trees(task.collective(), task.root()),
                        direction);
    }
}
