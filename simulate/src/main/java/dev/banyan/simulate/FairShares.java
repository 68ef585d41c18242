package dev.banyan.simulate;

import java.util.Arrays;

/**
 * Rates of flows that share resources max-min fairly: no flow can get more but at the cost of one that has
 * no more. A flow uses all resources of its path at its rate. With f flows a resource gives capacity / (1 +
 * queueing (f - 1)) in all.
 *
 * <p>Rates are found by progressive filling: the resources with the least share per flow fix their flows, and
 * so on with the rest. Only flows that are connected, through resources, to one that came or went are looked
 * at: O(rounds x resources + lengths of paths) for those. Nothing is allocated after the start.
 *
 * <p>Source: D. Bertsekas, R. Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2.
 */
final class FairShares {
    /** Rates that differ by rounding alone count as equal, so that nothing is rescheduled for it. */
    private static final double ROUNDING = 1e-12;

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
    /** By entry of a path: where the flow stands among the members of the resource. */
    private final int[] seat;
    private final int[] memberStart;
    /** Entries of paths, by resource. */
    private final int[] members;
    private final int[] count;
    private final int[] flowOfEntry;

    private final long[] busySince;
    private final long[] busy;

    private final int[] dirty;
    private int dirtyCount;
    private final boolean[] isDirty;

    /** By resource and by flow: the run of {@link #settle} that last looked at it. */
    private final int[] resourceSeen;
    private final int[] flowSeen;
    private int run;
    private final int[] groupResources;
    private int groupSize;
    private final int[] groupFlows;
    private final double[] left;
    private final int[] open;

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
        count = new int[resources];
        memberStart = new int[resources + 1];
        flowOfEntry = new int[path.length];
        busySince = new long[resources];
        busy = new long[resources];
        dirty = new int[resources];
        isDirty = new boolean[resources];
        resourceSeen = new int[resources];
        flowSeen = new int[flows];
        groupResources = new int[resources];
        groupFlows = new int[flows];
        left = new double[resources];
        open = new int[resources];
        for (int flow = 0; flow < flows; flow++) {
            Arrays.fill(flowOfEntry, pathStart[flow], pathStart[flow + 1], flow);
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
            seat[entry] = count[resource];
            members[memberStart[resource] + count[resource]++] = entry;
            mark(resource);
        }
    }

    /** A flow goes. */
    void remove(int flow, long now) {
        for (int entry = pathStart[flow]; entry < pathStart[flow + 1]; entry++) {
            int resource = path[entry];
            int last = members[memberStart[resource] + --count[resource]];
            members[memberStart[resource] + seat[entry]] = last;
            seat[last] = seat[entry];
            if (count[resource] == 0) {
                busy[resource] += now - busySince[resource];
            } else {
                mark(resource);
            }
        }
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

    double rate(int flow) {
        return rate[flow];
    }

    /** Finds the rates anew where flows came or went. */
    void settle(Listener listener) {
        run++;
        for (int i = 0; i < dirtyCount; i++) {
            int resource = dirty[i];
            isDirty[resource] = false;
            if (count[resource] > 0 && resourceSeen[resource] != run) {
                settleGroup(resource, listener);
            }
        }
        dirtyCount = 0;
    }

    private void settleGroup(int first, Listener listener) {
        int flows = collect(first);
        fill(flows);
        for (int i = 0; i < flows; i++) {
            int flow = groupFlows[i];
            double before = rate[flow];
            if (Math.abs(next[flow] - before) > ROUNDING * before) {
                rate[flow] = next[flow];
                listener.rateChanged(flow, before, next[flow]);
            }
        }
    }

    /** All resources and flows connected to a resource; returns the number of flows. */
    private int collect(int first) {
        int flows = 0;
        groupSize = 0;
        groupResources[groupSize++] = first;
        resourceSeen[first] = run;
        for (int i = 0; i < groupSize; i++) {
            int start = memberStart[groupResources[i]];
            for (int m = start; m < start + count[groupResources[i]]; m++) {
                int flow = flowOfEntry[members[m]];
                if (flowSeen[flow] != run) {
                    flowSeen[flow] = run;
                    groupFlows[flows++] = flow;
                    for (int entry = pathStart[flow]; entry < pathStart[flow + 1]; entry++) {
                        if (resourceSeen[path[entry]] != run) {
                            resourceSeen[path[entry]] = run;
                            groupResources[groupSize++] = path[entry];
                        }
                    }
                }
            }
        }
        return flows;
    }

    private void fill(int flows) {
        for (int i = 0; i < groupSize; i++) {
            int resource = groupResources[i];
            open[resource] = count[resource];
            left[resource] = capacity[resource] / (1 + queueing[resource] * (count[resource] - 1));
        }
        for (int i = 0; i < flows; i++) {
            next[groupFlows[i]] = -1;
        }
        double level = 0;
        int unfilled = groupSize;
        while (unfilled > 0) {
            double least = Double.POSITIVE_INFINITY;
            int kept = 0;
            for (int i = 0; i < unfilled; i++) {
                int resource = groupResources[i];
                if (open[resource] > 0) {
                    groupResources[kept++] = resource;
                    least = Math.min(least, left[resource] / open[resource]);
                }
            }
            unfilled = kept;
            // Levels never fall; rounding must not make them.
            level = Math.max(level, least);
            for (int i = 0; i < unfilled; i++) {
                int resource = groupResources[i];
                if (left[resource] <= level * (1 + ROUNDING) * open[resource]) {
                    fix(resource, level);
                }
            }
        }
    }

    private void fix(int resource, double level) {
        int start = memberStart[resource];
        for (int m = start; m < start + count[resource]; m++) {
            int flow = flowOfEntry[members[m]];
            if (next[flow] < 0) {
                next[flow] = level;
                for (int entry = pathStart[flow]; entry < pathStart[flow + 1]; entry++) {
                    left[path[entry]] -= level;
                    open[path[entry]]--;
                }
            }
        }
    }
}
