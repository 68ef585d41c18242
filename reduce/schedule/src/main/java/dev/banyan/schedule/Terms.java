package dev.banyan.schedule;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Symbolic sums of ranks' contributions. Equal terms have equal numbers: term r, for r below the number of
 * ranks, is rank r's contribution alone; the others are sums of terms in a fixed order.
 */
final class Terms {
    private final List<BitSet> ranks = new ArrayList<>();
    private final List<List<Integer>> parts = new ArrayList<>();
    private final Map<List<Integer>, Integer> numbers = new HashMap<>();

    Terms(int rankCount) {
        for (int rank = 0; rank < rankCount; rank++) {
            BitSet alone = new BitSet(rankCount);
            alone.set(rank);
            ranks.add(alone);
            parts.add(List.of());
        }
    }

    /** Returns the sum of terms, in this order; no rank may be in two of them. */
    int sum(List<Integer> terms) {
        Integer known = numbers.get(terms);
        return known == null ? add(List.copyOf(terms)) : known;
    }

    private int add(List<Integer> terms) {
        numbers.put(terms, ranks.size());
        BitSet all = new BitSet();
        terms.forEach(term -> all.or(ranks.get(term)));
        ranks.add(all);
        parts.add(terms);
        return ranks.size() - 1;
    }

    /** Returns a rank that is in two of the terms, or -1. */
    int repeatedRank(List<Integer> terms) {
        if (numbers.containsKey(terms)) {
            return -1;
        }
        BitSet seen = new BitSet();
        for (int term : terms) {
            BitSet twice = (BitSet) ranks.get(term).clone();
            twice.and(seen);
            if (!twice.isEmpty()) {
                return twice.nextSetBit(0);
            }
            seen.or(ranks.get(term));
        }
        return -1;
    }

    /** Returns the number of ranks that contribute to a term. */
    int size(int term) {
        return ranks.get(term).cardinality();
    }

    String print(int term) {
        List<Integer> summands = parts.get(term);
        return summands.isEmpty()
                ? String.valueOf(term)
                : summands.stream().map(this::printPart).collect(Collectors.joining(" + "));
    }

    private String printPart(int term) {
        return parts.get(term).isEmpty() ? print(term) : "(" + print(term) + ")";
    }
}
