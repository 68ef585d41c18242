package dev.banyan.test;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/**
 * Few cases in which every two values of two parameters meet, for tests whose parameters have too many combinations.
 * The same numbers of values give the same cases.
 */
public final class CoveringArray {
    private final int[] counts;
    /** For each two parameters the pairs of their values that no case has yet. */
    private final BitSet[][] missing;

    private CoveringArray(int... counts) {
        this.counts = counts.clone();
        missing = new BitSet[counts.length][counts.length];
        for (int a = 0; a < counts.length; a++) {
            for (int b = 0; b < a; b++) {
                missing[a][b] = new BitSet();
                missing[a][b].set(0, counts[a] * counts[b]);
            }
        }
    }

    /**
     * Returns cases, each of which has the index of a value for each parameter. Each begins with a pair that is still
     * missing; then each parameter in turn takes the value that adds most missing pairs.
     *
     * @param counts the number of values of each parameter, at least 1; two parameters or more
     */
    public static List<int[]> ofPairs(int... counts) {
        CoveringArray array = new CoveringArray(counts);
        List<int[]> cases = new ArrayList<>();
        for (int a = 0; a < counts.length; a++) {
            for (int b = 0; b < a; b++) {
                for (int pair = array.missing[a][b].nextSetBit(0);
                        pair >= 0;
                        pair = array.missing[a][b].nextSetBit(pair)) {
                    cases.add(array.take(a, b, pair));
                }
            }
        }
        return cases;
    }

    private int[] take(int a, int b, int pair) {
        int[] values = new int[counts.length];
        Arrays.fill(values, -1);
        values[a] = pair / counts[b];
        values[b] = pair % counts[b];
        for (int parameter = 0; parameter < counts.length; parameter++) {
            if (values[parameter] < 0) {
                values[parameter] = best(parameter, values);
            }
        }
        for (int x = 0; x < counts.length; x++) {
            for (int y = 0; y < x; y++) {
                missing[x][y].clear(values[x] * counts[y] + values[y]);
            }
        }
        return values;
    }

    private int best(int parameter, int[] values) {
        int best = 0;
        int most = -1;
        for (int value = 0; value < counts[parameter]; value++) {
            int added = added(parameter, value, values);
            if (added > most) {
                most = added;
                best = value;
            }
        }
        return best;
    }

    private int added(int parameter, int value, int[] values) {
        int added = 0;
        for (int other = 0; other < counts.length; other++) {
            if (other != parameter && values[other] >= 0) {
                boolean isMissing = other < parameter
                        ? missing[parameter][other].get(value * counts[other] + values[other])
                        : missing[other][parameter].get(values[other] * counts[parameter] + value);
                added += isMissing ? 1 : 0;
            }
        }
        return added;
    }
}
