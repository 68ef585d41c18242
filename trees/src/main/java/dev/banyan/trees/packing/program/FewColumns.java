package dev.banyan.trees.packing.program;

import dev.banyan.trees.internal.PackingSimplex;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Chooses few and shallow trees of those that are known. Trees are left out one by one, as long as the
 * others can carry as much; where fewer trees are asked for than that takes, those whose loss costs least
 * go first, and the rest are improved by exchanging single trees. Deterministic, bounded in effort.
 */
final class FewColumns {
    /** Above what rounding and the capacities raised by {@link PackingSimplex} can bring about. */
    private static final double SAME = 5e-7;

    private final ColumnGeneration generation;
    private final boolean undirected;
    private final Effort effort;

    /**
     * @param undirected whether trees are the same both ways
     * @param effort what may be spent on it
     */
    FewColumns(ColumnGeneration generation, boolean undirected, Effort effort) {
        this.generation = generation;
        this.undirected = undirected;
        this.effort = effort;
    }

    /**
     * Trees that carry as much as those of a packing, none deeper.
     *
     * @param known trees to try first
     * @param prices of an optimal packing
     */
    FloatPacking withoutLoss(FloatPacking packing, List<TreeShape> known, PriceBound prices) {
        double enough = packing.total() * (1 - SAME);
        FloatPacking selection = packing;
        int deepest = selection.depth();
        for (int depth = 1; depth < deepest && generation.canComeFirst(prices) && effort.isLeft(); depth++) {
            FloatPacking shallow = generation.run(new ShallowTree(depth, known), prices, effort);
            if (shallow.total() >= enough) {
                selection = shallow;
                break;
            }
        }
        Set<TreeShape> needed = new LinkedHashSet<>();
        while (effort.isLeft()) {
            FloatPacking from = selection;
            TreeShape least = from.shapes().stream()
                    .filter(tree -> !needed.contains(tree))
                    .min(Comparator.comparingDouble(from::amount))
                    .orElse(null);
            if (least == null || from.shapes().size() == 1) {
                break;
            }
            FloatPacking rest = without(from, least, effort);
            if (rest.total() >= enough) {
                selection = rest;
            } else {
                needed.add(least);
            }
        }
        return selection;
    }

    private FloatPacking without(FloatPacking from, TreeShape tree, Effort spent) {
        List<TreeShape> others =
                from.shapes().stream().filter(other -> !other.equals(tree)).toList();
        return generation.run(new GivenTrees(others), spent);
    }

    /**
     * Selections of ever fewer trees, down to one.
     *
     * @param from the first of them
     * @param others further trees to try
     */
    List<FloatPacking> everFewer(FloatPacking from, List<TreeShape> others) {
        List<FloatPacking> all = new ArrayList<>();
        all.add(from);
        FloatPacking current = from;
        long each = effort.left() / from.shapes().size();
        while (current.shapes().size() > 1) {
            Effort some = new Effort(each);
            current = improved(withoutLeast(current, some), others, some);
            all.add(current);
        }
        return all;
    }

    private FloatPacking withoutLeast(FloatPacking from, Effort some) {
        List<TreeShape> bySize = from.shapes().stream()
                .sorted(Comparator.comparingDouble(from::amount))
                .toList();
        // The first is solved whatever the effort, so that there always are fewer.
        FloatPacking best = without(from, bySize.getFirst(), new Effort(Long.MAX_VALUE));
        for (TreeShape tree : bySize.subList(1, bySize.size())) {
            if (some.isLeft()) {
                FloatPacking rest = without(from, tree, some);
                best = rest.total() > best.total() ? rest : best;
            }
        }
        return best;
    }

    private FloatPacking improved(FloatPacking from, List<TreeShape> others, Effort some) {
        FloatPacking best = from;
        boolean changed = true;
        while (changed && some.isLeft()) {
            changed = false;
            for (TreeShape tree : best.shapes()) {
                FloatPacking better = exchanged(best, tree, others, some);
                if (better.total() > best.total() * (1 + SAME)) {
                    best = better;
                    changed = true;
                    break;
                }
            }
        }
        return best;
    }

    private FloatPacking exchanged(FloatPacking from, TreeShape leaving, List<TreeShape> others, Effort some) {
        FloatPacking best = from;
        Set<TreeShape> candidates = new LinkedHashSet<>(others);
        if (undirected) {
            candidates.addAll(leaving.neighbours());
        }
        candidates.removeAll(from.shapes());
        for (TreeShape entering : candidates) {
            if (!some.isLeft()) {
                break;
            }
            List<TreeShape> trees = new ArrayList<>(from.shapes());
            trees.set(trees.indexOf(leaving), entering);
            FloatPacking other = generation.run(new GivenTrees(trees), some);
            best = other.total() > best.total() ? other : best;
        }
        return best;
    }
}
