package dev.banyan.simulate;

import java.util.Arrays;

/**
 * Rates of flows that share resources max-min fairly: no flow can get more but at the cost of one that has
 * no more. A flow uses all resources of its path at its rate. With f flows a resource gives capacity / (1 +
 * queueing (f - 1)) in all.
 *
 * <p>Rates are found by progressive filling: the resources with the least share per flow fix their flows, and
 * so on with the rest. Where flows came or went, filling goes as it went before up to the least level at which a
 * resource of theirs is full, then or now; so flows that are slower keep their rates, and of the others only those
 * are looked at that are connected to the change through resources: O(rounds x resources + lengths of paths) for
 * these. Nothing is allocated after the start.
 *
 * <p>Source: D. Bertsekas, R. Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2.
 */
final class FairShares {
    /** Rates that differ by rounding alone count as equal, so that nothing is rescheduled for it. */
    private static final double ROUNDING = 1e-12;

    /** No rate yet. */
    private static final double OPEN = -1;
    /** More would find a higher level, and so fewer flows to look at, but take longer than these. */
    private static final int PASSES = 3;

    @FunctionalInterface
    interface Listener {
        /** The rate of an active flow is not what it was; 0 for one that has just come. */
        void rateChanged(int flow, double oldRate, double newRate);
    }

    private final int[] pathStart;
    private final int[] path;
    private final double[] capacity;
    private final double[] queueing;

    private final double[] rate;
    private final double[] next;
    /** By entry of a path: where the flow stands in {@link #members}. */
    private final int[] seat;
    private final int[] memberStart;
    /** By resource, its active flows, and where each has its seat. */
    private final int[] members;
    private final int[] entries;
    private final int[] count;
    /** By resource: what it gives to as many flows as there are. */
    private final double[] total;

    /** By resource: the rate of those flows that it slows; infinite if there is none. */
    private final double[] level;

    private final long[] busySince;
    private final long[] busy;

    private final int[] dirty;
    private int dirtyCount;
    private final boolean[] isDirty;
    /** By resource: whether a flow came since the last {@link #settle}. */
    private final boolean[] grown;

    /** By resource: the run of {@link #settle} that last looked at it, and its place in the group. */
    private final int[] resourceSeen;
    private final int[] place;
    /** By flow: the run that last looked at it. */
    private final int[] flowSeen;
    private int run;
    private final int[] groupResources;
    private int groupSize;
    private final int[] groupFlows;
    private int groupFlowCount;
    /** By place in the group: capacity not yet given away, flows without a rate, and the one over the other. */
    private final double[] left;
    private final int[] open;
    private final double[] share;
    /** Places that are not full yet. */
    private final int[] unfilled;
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
        this.capacity = capacity;
        this.queueing = queueing;
        int flows = pathStart.length - 1;
        int resources = capacity.length;
        rate = new double[flows];
        next = new double[flows];
        seat = new int[path.length];
        members = new int[path.length];
        entries = new int[path.length];
        count = new int[resources];
        total = capacity.clone();
        level = new double[resources];
        Arrays.fill(level, Double.POSITIVE_INFINITY);
        grown = new boolean[resources];
        memberStart = new int[resources + 1];
        busySince = new long[resources];
        busy = new long[resources];
        dirty = new int[resources];
        isDirty = new boolean[resources];
        resourceSeen = new int[resources];
        flowSeen = new int[flows];
        groupResources = new int[resources];
        place = new int[resources];
        groupFlows = new int[flows];
        left = new double[resources];
        open = new int[resources];
        share = new double[resources];
        unfilled = new int[resources];
        inverse = new double[flows + 1];
        for (int count = 0; count <= flows; count++) {
            inverse[count] = 1.0 / count;
        }
        for (int resource : path) {
            memberStart[resource + 1]++;
        }
        for (int resource = 0; resource < resources; resource++) {
            memberStart[resource + 1] += memberStart[resource];
        }
    }

    /** A flow comes; its rate is 0 until {@link #settle}. */
    void add(int flow, long now) {
        rate[flow] = 0;
        for (int entry = pathStart[flow]; entry < pathStart[flow + 1]; entry++) {
            int resource = path[entry];
            if (count[resource] == 0) {
                busySince[resource] = now;
            }
            int free = memberStart[resource] + count[resource]++;
            members[free] = flow;
            entries[free] = entry;
            seat[entry] = free;
            grown[resource] = true;
            mark(resource);
        }
    }

    /** A flow goes. */
    void remove(int flow, long now) {
        for (int entry = pathStart[flow]; entry < pathStart[flow + 1]; entry++) {
            int resource = path[entry];
            int last = memberStart[resource] + --count[resource];
            members[seat[entry]] = members[last];
            entries[seat[entry]] = entries[last];
            seat[entries[last]] = seat[entry];
            if (count[resource] == 0) {
                busy[resource] += now - busySince[resource];
                level[resource] = Double.POSITIVE_INFINITY;
            } else {
                mark(resource);
            }
        }
    }

    private void mark(int resource) {
        if (queueing[resource] > 0) {
            total[resource] = capacity[resource] / (1 + queueing[resource] * (count[resource] - 1));
        }
        if (!isDirty[resource]) {
            isDirty[resource] = true;
            dirty[dirtyCount++] = resource;
        }
    }

    /** Time with at least one flow, up to the last that went. */
    long busy(int resource) {
        return busy[resource];
    }

    double rate(int flow) {
        return rate[flow];
    }

    /** Finds the rates anew where flows came or went. */
    void settle(Listener listener) {
        if (dirtyCount == 0) {
            return;
        }
        run++;
        groupFlowCount = 0;
        groupSize = 0;
        double least = Double.POSITIVE_INFINITY;
        for (int i = 0; i < dirtyCount; i++) {
            int resource = dirty[i];
            isDirty[resource] = false;
            if (count[resource] > 0) {
                least = Math.min(least, leastLevel(resource));
                reach(resource);
            }
            grown[resource] = false;
        }
        dirtyCount = 0;
        // A rate within rounding of that level may be one that it gave.
        collect(least * (1 - 4 * ROUNDING));
        fill();
        for (int i = 0; i < groupFlowCount; i++) {
            int flow = groupFlows[i];
            double before = rate[flow];
            if (Math.abs(next[flow] - before) > ROUNDING * before) {
                rate[flow] = next[flow];
                listener.rateChanged(flow, before, next[flow]);
            }
        }
    }

    /** No more than the level at which a resource is full, before and after what came and went. */
    private double leastLevel(int resource) {
        double before = level[resource];
        if (!grown[resource]) {
            // Who stays gets no less.
            return before;
        }
        double capacityNow = total[resource];
        double now = capacityNow / count[resource];
        for (int pass = 0; pass < PASSES && now < before; pass++) {
            double rest = capacityNow;
            int others = count[resource];
            int start = memberStart[resource];
            for (int m = start; m < start + count[resource]; m++) {
                double slower = rate[members[m]];
                if (slower > 0 && slower < now) {
                    rest -= slower;
                    others--;
                }
            }
            now = rest / others;
        }
        return Math.min(before, now);
    }

    private void reach(int resource) {
        resourceSeen[resource] = run;
        place[resource] = groupSize;
        groupResources[groupSize++] = resource;
    }

    /** Finds all flows not slower than a level that are connected to the resources that were reached. */
    private void collect(double least) {
        for (int at = 0; at < groupSize; at++) {
            int resource = groupResources[at];
            double rest = total[resource];
            int faster = 0;
            int start = memberStart[resource];
            for (int m = start; m < start + count[resource]; m++) {
                int flow = members[m];
                double before = rate[flow];
                if (before > 0 && before < least) {
                    rest -= before;
                    continue;
                }
                faster++;
                if (flowSeen[flow] != run) {
                    flowSeen[flow] = run;
                    next[flow] = OPEN;
                    groupFlows[groupFlowCount++] = flow;
                    for (int entry = pathStart[flow]; entry < pathStart[flow + 1]; entry++) {
                        if (resourceSeen[path[entry]] != run) {
                            reach(path[entry]);
                        }
                    }
                }
            }
            left[at] = rest;
            open[at] = faster;
            share[at] = rest * inverse[faster];
            unfilled[at] = at;
            level[resource] = Double.POSITIVE_INFINITY;
        }
    }

    private void fill() {
        double reached = 0;
        int size = groupSize;
        while (size > 0) {
            double least = Double.POSITIVE_INFINITY;
            int kept = 0;
            for (int i = 0; i < size; i++) {
                int at = unfilled[i];
                if (open[at] > 0) {
                    unfilled[kept++] = at;
                    least = Math.min(least, share[at]);
                }
            }
            size = kept;
            // Levels never fall; rounding must not make them.
            reached = Math.max(reached, least);
            double full = reached * (1 + ROUNDING);
            for (int i = 0; i < size; i++) {
                int at = unfilled[i];
                if (share[at] <= full && open[at] > 0) {
                    fix(groupResources[at], reached);
                }
            }
        }
    }

    private void fix(int resource, double reached) {
        level[resource] = reached;
        int start = memberStart[resource];
        for (int m = start; m < start + count[resource]; m++) {
            int flow = members[m];
            if (next[flow] == OPEN) {
                next[flow] = reached;
                for (int entry = pathStart[flow]; entry < pathStart[flow + 1]; entry++) {
                    int at = place[path[entry]];
                    left[at] -= reached;
                    share[at] = left[at] * inverse[--open[at]];
                }
            }
        }
    }
}
