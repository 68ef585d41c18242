package dev.banyan.trees.packing.branching;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Trees that were packed.
 *
 * @param graph what they were packed into
 * @param trees all of them, by root, the widest of a root first
 */
record Candidate(LogicalGraph graph, List<Branching> trees) {
    Candidate {
        trees = List.copyOf(trees);
    }

    int depth() {
        return trees.stream()
                .mapToInt(branching -> branching.tree().depth())
                .max()
                .orElseThrow();
    }

    /** Trees of the root that has the most. */
    int treesPerRoot() {
        Map<Integer, Integer> counts = new HashMap<>();
        trees.forEach(branching -> counts.merge(branching.tree().root(), 1, Integer::sum));
        return counts.values().stream().mapToInt(Integer::intValue).max().orElseThrow();
    }

    /** The widest trees of each root alone. */
    Candidate widest(int perRoot) {
        Map<Integer, Integer> counts = new HashMap<>();
        return new Candidate(
                graph,
                trees.stream()
                        .filter(branching -> counts.merge(branching.tree().root(), 1, Integer::sum) <= perRoot)
                        .toList());
    }
}
