package dev.banyan.simulate;

import java.util.Arrays;

/**
 * Rates of flows that share resources max-min fairly: no flow can get more but at the cost of one that has
 * no more. A flow uses all resources of its path at its rate. With f flows a resource gives capacity / (1 +
 * queueing (f - 1)) in all.
 *
 * <p>Rates are found by progressive filling: the resources with the least share per flow slow their flows to it, and
 * so on with the rest. So each flow is slowed by one resource, its bottleneck, and its rate is the level of that.
 * Where flows came or went, filling goes as it went before up to the least level at which a resource of theirs is
 * full, then or now; this part is only gone through again, without any search. Flows are bits of a set per
 * resource, so that only those are looked at that get a rate: O(rounds x resources in use + lengths of paths). What
 * comes of it is told by bottleneck: many levels change, but few flows get another bottleneck. Nothing is allocated
 * after the start.
 *
 * <p>Source: D. Bertsekas, R. Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2.
 */
final class FairShares {
    /** Rates that differ by rounding alone count as equal, so that nothing is rescheduled for it. */
    private static final double ROUNDING = 1e-12;

    private static final int NONE = -1;
    /** More would find a higher level, and so fewer rounds to do, but take longer than these. */
    private static final int PASSES = 2;

    /** Hears what {@link #settle} found; of a resource's level before the flows that come to it. */
    interface Listener {
        /** The flows that a resource slows have another rate than its flows had, if it had any. */
        void levelChanged(int resource, double level);

        /** A flow, new or known, is slowed by a resource that did not slow it so far. */
        void slowedBy(int flow, int resource);
    }

    private final int[] pathStart;
    private final int[] path;
    /** Words of a set of flows. */
    private final int words;
    /** Per resource the set of the flows that use it, and of those that it slows. */
    private final long[] active;

    private final long[] slowed;
    private int flowCount;
    /** The set of the flows that have no rate yet, and how many they are. */
    private final long[] open;

    private int openFlows;

    private final int[] count;
    /** By resource and number of flows: what it gives to so many in all. */
    private final double[] totals;
    /** By resource: where that begins. */
    private final int[] totalStart;
    /** By resource: what it gives to as many flows as there are. */
    private final double[] total;
    /** By resource: the rate of those flows that it slows; infinite if there is none. */
    private final double[] level;
    /** By flow: the resource that slows it; none before it has a rate. */
    private final int[] bottleneck;

    private final long[] busySince;
    private final long[] busy;

    private final int[] dirty;
    private int dirtyCount;
    private final boolean[] isDirty;
    /** By resource: whether a flow came since the last {@link #settle}. */
    private final boolean[] grown;

    /** Resources that have flows, or had some since the last {@link #settle}, in the order of their numbers. */
    private final int[] used;

    private final boolean[] isUsed;

    private int usedCount;
    /** Resources that slow flows, in the order in which they were full. */
    private final int[] full;

    private int fullCount;
    /** Those of them that may not any more. */
    private final int[] former;
    /** By resource: the run of {@link #settle} in which it was last found to slow flows. */
    private final int[] fullRun;

    private int run;
    /** By resource: capacity not yet given away, and flows without a rate. */
    private final double[] left;

    private final int[] openCount;
    /** Resources that are not full yet, and what each can give to its flows without a rate. */
    private final int[] unfilled;

    private final double[] share;
    /** One over a count. */
    private final double[] inverse;

    /**
     * @param pathStart where each flow's path begins in {@code path}, and the end of the last
     * @param path resources; each at most once per flow
     * @param capacity by resource, above 0
     * @param queueing by resource, at least 0
     */
    FairShares(int[] pathStart, int[] path, double[] capacity, double[] queueing) {
        this.pathStart = pathStart;
        this.path = path;
        int flows = pathStart.length - 1;
        int resources = capacity.length;
        words = (flows + Long.SIZE - 1) / Long.SIZE;
        active = new long[resources * words];
        slowed = new long[resources * words];
        open = new long[words];
        count = new int[resources];
        totalStart = new int[resources + 1];
        for (int resource : path) {
            totalStart[resource + 1]++;
        }
        for (int resource = 0; resource < resources; resource++) {
            totalStart[resource + 1] += totalStart[resource] + 1;
        }
        totals = new double[totalStart[resources]];
        for (int resource = 0; resource < resources; resource++) {
            int start = totalStart[resource];
            for (int flow = 1; start + flow < totalStart[resource + 1]; flow++) {
                totals[start + flow] = capacity[resource] / (1 + queueing[resource] * (flow - 1));
            }
        }
        total = capacity.clone();
        level = new double[resources];
        Arrays.fill(level, Double.POSITIVE_INFINITY);
        bottleneck = new int[flows];
        Arrays.fill(bottleneck, NONE);
        busySince = new long[resources];
        busy = new long[resources];
        dirty = new int[resources];
        isDirty = new boolean[resources];
        grown = new boolean[resources];
        used = new int[resources];
        isUsed = new boolean[resources];
        full = new int[resources];
        former = new int[resources];
        fullRun = new int[resources];
        left = new double[resources];
        openCount = new int[resources];
        share = new double[resources];
        unfilled = new int[resources];
        inverse = new double[flows + 1];
        for (int count = 0; count <= flows; count++) {
            inverse[count] = 1.0 / count;
        }
    }

    /** A flow comes; its rate is 0 until {@link #settle}. */
    void add(int flow, long now) {
        flowCount++;
        for (int entry = pathStart[flow]; entry < pathStart[flow + 1]; entry++) {
            int resource = path[entry];
            if (count[resource]++ == 0) {
                busySince[resource] = now;
                if (!isUsed[resource]) {
                    use(resource);
                }
            }
            active[resource * words + flow / Long.SIZE] |= 1L << flow;
            grown[resource] = true;
            mark(resource);
        }
    }

    /** A flow goes. */
    void remove(int flow, long now) {
        for (int entry = pathStart[flow]; entry < pathStart[flow + 1]; entry++) {
            int resource = path[entry];
            int word = resource * words + flow / Long.SIZE;
            active[word] &= ~(1L << flow);
            slowed[word] &= ~(1L << flow);
            if (--count[resource] == 0) {
                busy[resource] += now - busySince[resource];
            }
            mark(resource);
        }
        bottleneck[flow] = NONE;
        flowCount--;
    }

    private void use(int resource) {
        int at = usedCount++;
        for (; at > 0 && used[at - 1] > resource; at--) {
            used[at] = used[at - 1];
        }
        used[at] = resource;
        isUsed[resource] = true;
    }

    private void mark(int resource) {
        if (!isDirty[resource]) {
            isDirty[resource] = true;
            dirty[dirtyCount++] = resource;
        }
    }

    /** Time with at least one flow, up to the last that went. */
    long busy(int resource) {
        return busy[resource];
    }

    /** Rate of a flow; 0 if it has none. */
    double rate(int flow) {
        return bottleneck[flow] == NONE ? 0 : level[bottleneck[flow]];
    }

    /** Finds the rates anew where flows came or went. */
    void settle(Listener listener) {
        if (dirtyCount == 0) {
            return;
        }
        run++;
        double least = Double.POSITIVE_INFINITY;
        for (int i = 0; i < dirtyCount; i++) {
            int resource = dirty[i];
            total[resource] = totals[totalStart[resource] + count[resource]];
            least = Math.min(least, leastLevel(resource));
            isDirty[resource] = false;
            grown[resource] = false;
        }
        dirtyCount = 0;
        open();
        // A level within rounding may be one that has changed.
        int same = fillAsBefore(least * (1 - 4 * ROUNDING));
        int formerCount = fullCount - same;
        System.arraycopy(full, same, former, 0, formerCount);
        fullCount = same;
        fill(listener);
        for (int i = 0; i < formerCount; i++) {
            if (fullRun[former[i]] != run) {
                slowNone(former[i]);
            }
        }
    }

    /** No more than the level at which a resource is full, before and after what came and went. */
    private double leastLevel(int resource) {
        double before = level[resource];
        if (!grown[resource] || count[resource] == 0) {
            // Who stays gets no less.
            return before;
        }
        double now = total[resource] * inverse[count[resource]];
        for (int pass = 0; pass < PASSES && now < before; pass++) {
            double rest = total[resource];
            int others = count[resource];
            for (int word = 0; word < words; word++) {
                for (long bits = active[resource * words + word]; bits != 0; bits &= bits - 1) {
                    double slower = rate(word * Long.SIZE + Long.numberOfTrailingZeros(bits));
                    if (slower > 0 && slower < now) {
                        rest -= slower;
                        others--;
                    }
                }
            }
            now = rest * inverse[others];
        }
        return Math.min(before, now);
    }

    /** No flow has a rate. */
    private void open() {
        Arrays.fill(open, -1);
        openFlows = flowCount;
        int kept = 0;
        for (int i = 0; i < usedCount; i++) {
            int resource = used[i];
            if (count[resource] > 0) {
                used[kept++] = resource;
                left[resource] = total[resource];
                openCount[resource] = count[resource];
            } else {
                isUsed[resource] = false;
            }
        }
        usedCount = kept;
    }

    /**
     * Gives all those flows their rates again that are slower than a level.
     *
     * @return how many resources slow them
     */
    private int fillAsBefore(double least) {
        int same = 0;
        while (same < fullCount && level[full[same]] < least) {
            int resource = full[same++];
            give(resource, level[resource]);
        }
        return same;
    }

    private void fill(Listener listener) {
        int size = usedCount;
        System.arraycopy(used, 0, unfilled, 0, size);
        double reached = 0;
        while (openFlows > 0) {
            double least = Double.POSITIVE_INFINITY;
            double second = Double.POSITIVE_INFINITY;
            int first = 0;
            int kept = 0;
            for (int i = 0; i < size; i++) {
                int resource = unfilled[i];
                int others = openCount[resource];
                if (others > 0) {
                    double each = left[resource] * inverse[others];
                    share[kept] = each;
                    unfilled[kept] = resource;
                    if (each < least) {
                        second = least;
                        least = each;
                        first = kept;
                    } else if (each < second) {
                        second = each;
                    }
                    kept++;
                }
            }
            size = kept;
            // Levels never fall; rounding must not make them.
            reached = Math.max(reached, least);
            double within = reached * (1 + ROUNDING);
            if (second > within) {
                slow(unfilled[first], reached, listener);
                continue;
            }
            for (int i = first; i < size; i++) {
                if (share[i] <= within && openCount[unfilled[i]] > 0) {
                    slow(unfilled[i], reached, listener);
                }
            }
        }
    }

    /** A resource is full: all its flows without a rate get what has been reached. */
    private void slow(int resource, double reached, Listener listener) {
        full[fullCount++] = resource;
        fullRun[resource] = run;
        if (!(Math.abs(level[resource] - reached) <= ROUNDING * reached)) {
            level[resource] = reached;
            listener.levelChanged(resource, reached);
        }
        int base = resource * words;
        for (int word = 0; word < words; word++) {
            long all = active[base + word] & open[word];
            for (long bits = all & ~slowed[base + word]; bits != 0; bits &= bits - 1) {
                int flow = word * Long.SIZE + Long.numberOfTrailingZeros(bits);
                bottleneck[flow] = resource;
                listener.slowedBy(flow, resource);
            }
            slowed[base + word] = all;
        }
        give(resource, reached);
    }

    /** Gives a rate to all flows that a resource slows. */
    private void give(int resource, double rate) {
        int base = resource * words;
        for (int word = 0; word < words; word++) {
            long all = slowed[base + word];
            open[word] &= ~all;
            openFlows -= Long.bitCount(all);
            for (long bits = all; bits != 0; bits &= bits - 1) {
                int flow = word * Long.SIZE + Long.numberOfTrailingZeros(bits);
                int end = pathStart[flow + 1];
                for (int entry = pathStart[flow]; entry < end; entry++) {
                    int other = path[entry];
                    if (other != resource) {
                        left[other] -= rate;
                        openCount[other]--;
                    }
                }
            }
        }
        openCount[resource] = 0;
    }

    private void slowNone(int resource) {
        level[resource] = Double.POSITIVE_INFINITY;
        Arrays.fill(slowed, resource * words, (resource + 1) * words, 0);
    }
}
