package dev.banyan.trees.balanced;

import java.util.Arrays;

/**
 * The dynamic programme of {@link Exact}. With v the value of a link, and parts A and B that both fit
 * the level below,
 * <pre>
 *   best(S, r)   = max over A + B = S, r in A, of best(A, r) + joined(B, r)
 *   joined(B, r) = max over c in B of v(r, c) + best(B, c)
 * </pre>
 * Every row of a table has one entry per device, {@link LinkUse#NONE} where there is no tree, so that
 * the inner loops need no branch.
 */
final class SubsetSearch implements TreeBuilder {
    private final LinkUse links;
    private final SubsetPlan plan;
    private final int n;
    private final long[][] best;
    private final long[][] joined;

    SubsetSearch(LinkUse links) {
        this.links = links;
        n = links.size();
        plan = SubsetPlan.of(n);
        best = new long[plan.levels()][];
        joined = new long[plan.levels()][];
        for (int level = 0; level < plan.levels(); level++) {
            best[level] = new long[plan.sets(level).length * n];
            joined[level] = new long[plan.sets(level).length * n];
        }
    }

    @Override
    public boolean build(int root, int[] parents) {
        int top = plan.levels() - 1;
        for (int level = 0; level <= top; level++) {
            int[] sets = plan.sets(level);
            for (int row = 0; row < sets.length; row++) {
                if ((sets[row] >> root & 1) != 0) {
                    // No other device is ever the root of a part that holds the root of the tree.
                    fillBest(level, row, sets[row], root);
                    continue;
                }
                fillBest(level, row, sets[row]);
                if (level == top) {
                    fillJoined(level, row, sets[row], root, root + 1);
                } else {
                    fillJoined(level, row, sets[row], 0, n);
                }
            }
        }
        int all = (1 << n) - 1;
        long value = LinkUse.NONE;
        for (int part : plan.splits(top + 1, n)) {
            value = Math.max(value, splitValue(top, part, all ^ part, root));
        }
        if (value < 0) {
            return false;
        }
        parents[root] = -1;
        follow(top + 1, all, root, value, parents);
        return true;
    }

    private void fillBest(int level, int row, int set) {
        long[] target = best[level];
        int to = row * n;
        Arrays.fill(target, to, to + n, LinkUse.NONE);
        int size = Integer.bitCount(set);
        if (size == 1) {
            target[to + Integer.numberOfTrailingZeros(set)] = 0;
            return;
        }
        int[] rows = plan.rows(level - 1);
        long[] kept = best[level - 1];
        long[] met = joined[level - 1];
        for (int split : plan.splits(level, size)) {
            int part = Integer.expand(split, set);
            int a = rows[part] * n;
            int b = rows[set ^ part] * n;
            for (int rest = part; rest != 0; rest &= rest - 1) {
                int r = Integer.numberOfTrailingZeros(rest);
                target[to + r] = Math.max(target[to + r], kept[a + r] + met[b + r]);
            }
        }
        for (int r = 0; r < n; r++) {
            target[to + r] = orNone(target[to + r]);
        }
    }

    /** Fills the entry of one device of the set. */
    private void fillBest(int level, int row, int set, int root) {
        int size = Integer.bitCount(set);
        long value = size == 1 ? 0 : LinkUse.NONE;
        if (size > 1) {
            int[] rows = plan.rows(level - 1);
            long[] kept = best[level - 1];
            long[] met = joined[level - 1];
            int place = Integer.bitCount(set & ((1 << root) - 1));
            for (int split : plan.splits(level, size)) {
                if ((split >> place & 1) != 0) {
                    int part = Integer.expand(split, set);
                    value = Math.max(value, kept[rows[part] * n + root] + met[rows[set ^ part] * n + root]);
                }
            }
        }
        best[level][row * n + root] = orNone(value);
    }

    private void fillJoined(int level, int row, int set, int from, int to) {
        long[] values = links.values();
        long[] target = joined[level];
        long[] inner = best[level];
        int at = row * n;
        for (int r = from; r < to; r++) {
            long value = LinkUse.NONE;
            if ((set >> r & 1) == 0) {
                for (int rest = set; rest != 0; rest &= rest - 1) {
                    int c = Integer.numberOfTrailingZeros(rest);
                    value = Math.max(value, values[r * n + c] + inner[at + c]);
                }
            }
            target[at + r] = orNone(value);
        }
    }

    /** Keeps sums with NONE from growing without bounds. */
    private static long orNone(long value) {
        return value < 0 ? LinkUse.NONE : value;
    }

    private long splitValue(int below, int part, int rest, int root) {
        int[] rows = plan.rows(below);
        return (part >> root & 1) == 0
                ? LinkUse.NONE
                : best[below][rows[part] * n + root] + joined[below][rows[rest] * n + root];
    }

    /** Finds again what made the value. */
    private void follow(int level, int set, int root, long value, int[] parents) {
        if (Integer.bitCount(set) == 1) {
            return;
        }
        int below = level - 1;
        for (int split : plan.splits(level, Integer.bitCount(set))) {
            int part = Integer.expand(split, set);
            if (splitValue(below, part, set ^ part, root) == value) {
                int[] rows = plan.rows(below);
                int other = set ^ part;
                long met = joined[below][rows[other] * n + root];
                int child = childOf(below, other, root, met);
                parents[child] = root;
                follow(below, part, root, best[below][rows[part] * n + root], parents);
                follow(below, other, child, best[below][rows[other] * n + child], parents);
                return;
            }
        }
        throw new IllegalStateException("no split of " + Integer.toBinaryString(set) + " has value " + value);
    }

    private int childOf(int level, int set, int root, long value) {
        int at = plan.rows(level)[set] * n;
        for (int rest = set; rest != 0; rest &= rest - 1) {
            int c = Integer.numberOfTrailingZeros(rest);
            if (links.values()[root * n + c] + best[level][at + c] == value) {
                return c;
            }
        }
        throw new IllegalStateException("no device of " + Integer.toBinaryString(set) + " has value " + value);
    }
}
