package dev.banyan.cuda;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.UnaryOperator;

/** Rows of values of some parameters, in which each two values of two parameters occur together that may do so. */
final class CoveringArray {
    private static final int CANDIDATES = 30;

    /** Two parameters and their values. */
    private record Pair(int one, int ofOne, int other, int ofOther) {
        boolean isIn(int[] row) {
            return row[one] == ofOne && row[other] == ofOther;
        }
    }

    private CoveringArray() {}

    /**
     * Returns few rows, by a greedy choice among random ones; the same for the same arguments.
     *
     * @param sizes the number of values of each parameter
     * @param sound returns a row that may occur, in place of one that may not
     */
    static List<int[]> rows(int[] sizes, UnaryOperator<int[]> sound) {
        Set<Pair> missing = new LinkedHashSet<>();
        for (int one = 0; one < sizes.length; one++) {
            for (int other = one + 1; other < sizes.length; other++) {
                for (int value = 0; value < sizes[one] * sizes[other]; value++) {
                    Pair pair = new Pair(one, value / sizes[other], other, value % sizes[other]);
                    if (pair.isIn(sound.apply(row(pair, new int[sizes.length])))) {
                        missing.add(pair);
                    }
                }
            }
        }
        SplittableRandom random = new SplittableRandom(1);
        List<int[]> rows = new ArrayList<>();
        while (!missing.isEmpty()) {
            int[] best = {};
            long most = 0;
            for (int candidate = 0; candidate < CANDIDATES || most == 0; candidate++) {
                int[] any = new int[sizes.length];
                for (int p = 0; p < sizes.length; p++) {
                    any[p] = random.nextInt(sizes[p]);
                }
                int[] row = sound.apply(row(missing.iterator().next(), any));
                long found = missing.stream().filter(pair -> pair.isIn(row)).count();
                if (found > most) {
                    most = found;
                    best = row;
                }
            }
            int[] chosen = best;
            missing.removeIf(pair -> pair.isIn(chosen));
            rows.add(chosen);
        }
        return rows;
    }

    private static int[] row(Pair pair, int[] others) {
        others[pair.one()] = pair.ofOne();
        others[pair.other()] = pair.ofOther();
        return others;
    }
}
