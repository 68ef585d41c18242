package dev.banyan.simulate.internal.rate;

import java.util.Arrays;

/**
 * Rates of flows that share resources max-min fairly: no flow can get more but at the cost of one that has
 * no more. A flow uses all resources of its path at its rate. With f flows a resource gives capacity / (1 +
 * queueing (f - 1)) in all.
 *
 * <p>Each flow is slowed by one resource of its path, its bottleneck, and its rate is the level of that; a resource
 * that slows none has an infinite level. Levels are fair if and only if each fits the rates of the flows that others
 * slow (the resource gives what they leave in equal parts to those that it slows itself), and no flow crosses a
 * resource of a lower level than its bottleneck's. Where flows came or went, levels are put right from the least up: of
 * the resources whose level may not fit, the one goes first whose level, as it is or as it should be, is least. What
 * lies below is right by then, so that a level that falls is final, and one that rises only rises again after another
 * has become final; that bounds the changes by the square of the number of resources, and there are hardly more of them
 * than levels that differ in the end. A change costs O(flows at the resource + lengths of the paths of those that it
 * slows), and to find the next one O(resources that may not fit): nothing is done where a change does not reach.
 * Nothing is allocated after the start.
 *
 * <p>Source: D. Bertsekas, R. Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2, for what is fair; the order
 * is that of G. Ramalingam, T. Reps, "An Incremental Algorithm for a Generalization of the Shortest-Path Problem",
 * J. Algorithms 21 (1996), <a href="https://doi.org/10.1006/jagm.1996.0046">doi:10.1006/jagm.1996.0046</a>.
 */
public final class FairShares {
    /** Rates that differ by no more than this relative error count as equal, so that rounding reschedules nothing. */
    private static final double ROUNDING = 1e-12;

    private static final double ABOVE = 1 + ROUNDING;
    private static final double NO_LEVEL = Double.POSITIVE_INFINITY;
    private static final int NONE = -1;

    /** Receives the results of {@link #settle}: a resource's level comes before the flows that it newly slows. */
    public interface Listener {
        /** The flows that a resource slows have a new rate. */
        void levelChanged(int resource, double level);

        /** A flow has a new bottleneck. */
        void slowedBy(int flow, int resource);
    }

    private final int[] pathStart;
    private final int[] path;
    /** By resource: its first seat; the flows that use it sit on the first {@link #count} of them. */
    private final int[] firstSeat;

    private final int[] count;
    /** By seat: the flow, and the entry of its path that says so. Those come first that count in {@link #own}. */
    private final int[] flowOn;

    private final int[] entryOn;
    /** By entry of a path: the seat. */
    private final int[] seatOf;
    /** By resource and number of flows, from one on: what it gives to so many in all, by seat. */
    private final double[] totals;
    /** By resource: the rate of those flows that it slows. */
    private final double[] level;
    /** By flow: the resource that slows it, and its rate; none and infinite before there is one. */
    private final int[] bottleneck;

    private final double[] rate;
    /** The levels and bottlenecks that the listener was last given. */
    private final double[] reportedLevel;

    private final int[] reportedBottleneck;

    /** By resource: what it gives to those flows that it slows or may slow, and how many they are. */
    private final double[] rest;

    private final int[] own;
    /** By resource: how many of its flows have no rate, and what none of the others that it does not slow exceeds. */
    private final int[] open;

    private final double[] fastest;
    /** One over a count. */
    private final double[] inverse;

    private final long[] busySince;
    private final long[] busy;

    /** Resources whose level may not fit. */
    private final int[] pending;

    private final boolean[] isPending;
    private int pendingCount;
    /** By resource: no more than the level that it has nor than the one that it should have. */
    private final double[] key;
    /** The least of those keys that are left when the {@link #next} is taken. */
    private double second;
    /** Resources whose level changed, and flows whose bottleneck did. */
    private final int[] changed;

    private final boolean[] isChanged;
    private int changedCount;
    private final int[] moved;
    private final boolean[] isMoved;
    private int movedCount;

    /**
     * @param pathStart where each flow's path begins in {@code path}, and the end of the last
     * @param path resources; each at most once per flow
     * @param capacity by resource, above 0
     * @param queueing by resource, at least 0
     */
    public FairShares(int[] pathStart, int[] path, double[] capacity, double[] queueing) {
        this.pathStart = pathStart;
        this.path = path;
        int flows = pathStart.length - 1;
        int resources = capacity.length;
        firstSeat = Starts.of(path, path.length, resources);
        count = new int[resources];
        flowOn = new int[path.length];
        entryOn = new int[path.length];
        seatOf = new int[path.length];
        totals = new double[path.length];
        for (int resource = 0; resource < resources; resource++) {
            int first = firstSeat[resource];
            for (int seat = first; seat < firstSeat[resource + 1]; seat++) {
                totals[seat] = capacity[resource] / (1 + queueing[resource] * (seat - first));
            }
        }
        level = new double[resources];
        Arrays.fill(level, NO_LEVEL);
        reportedLevel = level.clone();
        bottleneck = new int[flows];
        Arrays.fill(bottleneck, NONE);
        reportedBottleneck = bottleneck.clone();
        rate = new double[flows];
        busySince = new long[resources];
        busy = new long[resources];
        pending = new int[resources];
        isPending = new boolean[resources];
        key = new double[resources];
        rest = new double[resources];
        fastest = new double[resources];
        own = new int[resources];
        open = new int[resources];
        inverse = new double[flows + 1];
        for (int i = 0; i <= flows; i++) {
            inverse[i] = 1.0 / i;
        }
        changed = new int[resources];
        isChanged = new boolean[resources];
        moved = new int[flows];
        isMoved = new boolean[flows];
    }

    /** Adds a flow; its rate is 0 until {@link #settle}. */
    public void add(int flow, long now) {
        rate[flow] = NO_LEVEL;
        for (int entry = pathStart[flow]; entry < pathStart[flow + 1]; entry++) {
            int resource = path[entry];
            int users = count[resource]++;
            int seat = firstSeat[resource] + users;
            if (users == 0) {
                busySince[resource] = now;
                rest[resource] = totals[seat];
                fastest[resource] = 0;
            } else {
                rest[resource] += totals[seat] - totals[seat - 1];
            }
            entryOn[seat] = entry;
            seatOf[entry] = seat;
            flowOn[seat] = flow;
            swap(seat, firstSeat[resource] + own[resource]++);
            open[resource]++;
            look(resource);
        }
    }

    /** Removes a flow. */
    public void remove(int flow, long now) {
        int by = bottleneck[flow];
        for (int entry = pathStart[flow]; entry < pathStart[flow + 1]; entry++) {
            int resource = path[entry];
            if (by == NONE) {
                open[resource]--;
            }
            if (by == NONE || by == resource) {
                swap(seatOf[entry], firstSeat[resource] + --own[resource]);
            } else {
                rest[resource] += rate[flow];
            }
            int last = firstSeat[resource] + --count[resource];
            swap(seatOf[entry], last);
            if (count[resource] == 0) {
                busy[resource] += now - busySince[resource];
            } else {
                rest[resource] += totals[last - 1] - totals[last];
            }
            look(resource);
        }
        bottleneck[flow] = NONE;
        reportedBottleneck[flow] = NONE;
    }

    private void swap(int seat, int other) {
        int flow = flowOn[seat];
        int entry = entryOn[seat];
        flowOn[seat] = flowOn[other];
        entryOn[seat] = entryOn[other];
        seatOf[entryOn[seat]] = seat;
        flowOn[other] = flow;
        entryOn[other] = entry;
        seatOf[entry] = other;
    }

    /** Returns the time in ticks with at least one flow, up to the last removal. */
    public long busy(int resource) {
        return busy[resource];
    }

    /** Returns the rate of a flow in bytes per tick; 0 if it has no bottleneck yet. */
    double rate(int flow) {
        return bottleneck[flow] == NONE ? 0 : rate[flow];
    }

    /** Computes new rates where flows were added or removed, and reports the changes. */
    public void settle(Listener listener) {
        for (int resource = next(); resource != NONE; resource = next()) {
            double to = count[resource] == 0 ? NO_LEVEL : fittingLevel(resource);
            double is = level[resource];
            boolean fits = is <= to * ABOVE && to <= is * ABOVE;
            if (fits && open[resource] == 0 && fastest[resource] <= to * ABOVE) {
                continue;
            }
            if (to <= second * ABOVE || is <= to) {
                change(resource, to);
            } else {
                look(resource, to);
            }
        }
        report(listener);
    }

    /** Marks a resource whose level may not fit any more; its key is a lower bound of its levels before and after. */
    private void look(int resource) {
        look(resource, rest[resource] * inverse[own[resource]]);
    }

    private void look(int resource, double to) {
        double is = level[resource];
        double least = to < is ? to : is;
        key[resource] = least;
        if (!isPending[resource] && least < NO_LEVEL) {
            isPending[resource] = true;
            pending[pendingCount++] = resource;
        }
    }

    /** Removes and returns the pending resource of the least key, or {@link #NONE}. */
    private int next() {
        second = NO_LEVEL;
        double least = NO_LEVEL;
        int first = NONE;
        for (int i = 0; i < pendingCount; i++) {
            double each = key[pending[i]];
            if (each < least) {
                second = least;
                least = each;
                first = i;
            } else if (each < second) {
                second = each;
            }
        }
        if (first == NONE) {
            for (int i = 0; i < pendingCount; i++) {
                isPending[pending[i]] = false;
            }
            pendingCount = 0;
            return NONE;
        }
        int resource = pending[first];
        pending[first] = pending[--pendingCount];
        isPending[resource] = false;
        return resource;
    }

    /** Returns the level that fits the rates of a resource's flows. */
    private double fittingLevel(int resource) {
        int slowed = own[resource];
        double found = rest[resource] * inverse[slowed];
        if (slowed > 0 && fastest[resource] <= found * ABOVE) {
            return found;
        }
        sum(resource);
        double total = totals[firstSeat[resource] + count[resource] - 1];
        double left = rest[resource];
        if (slowed == 0 && left >= -ROUNDING * total) {
            return NO_LEVEL;
        }
        found = slowed == 0 ? 0 : left * inverse[slowed];
        double most = fastest[resource];
        int end = firstSeat[resource] + count[resource];
        while (most > found * ABOVE) {
            double next = 0;
            double from = most;
            for (int seat = firstSeat[resource] + own[resource]; seat < end; seat++) {
                double other = rate[flowOn[seat]];
                if (other == from) {
                    left += other;
                    slowed++;
                } else if (other < from && other > next) {
                    next = other;
                }
            }
            found = left * inverse[slowed];
            most = next;
        }
        return found;
    }

    /** Recomputes the sums of a resource, which lose precision as changes are added to them. */
    private void sum(int resource) {
        int end = firstSeat[resource] + count[resource];
        double left = totals[end - 1];
        double most = 0;
        for (int seat = firstSeat[resource] + own[resource]; seat < end; seat++) {
            double other = rate[flowOn[seat]];
            left -= other;
            if (other > most) {
                most = other;
            }
        }
        rest[resource] = left;
        fastest[resource] = most;
    }

    /** Sets a resource's level, for the flows that it slows and those that it slows from now on. */
    private void change(int resource, double to) {
        level[resource] = to;
        if (!isChanged[resource]) {
            isChanged[resource] = true;
            changed[changedCount++] = resource;
        }
        if (count[resource] == 0) {
            return;
        }
        int first = firstSeat[resource];
        if (open[resource] > 0) {
            for (int seat = first; seat < first + own[resource]; seat++) {
                int flow = flowOn[seat];
                if (bottleneck[flow] == NONE) {
                    slow(flow, resource, to);
                } else if (rate[flow] != to) {
                    changeRate(flow, resource, to);
                }
            }
        } else {
            for (int seat = first; seat < first + own[resource]; seat++) {
                changeRate(flowOn[seat], resource, to);
            }
        }
        if (fastest[resource] > to * ABOVE) {
            for (int seat = first + own[resource]; seat < first + count[resource]; seat++) {
                int flow = flowOn[seat];
                if (rate[flow] > to * ABOVE) {
                    slow(flow, resource, to);
                }
            }
        }
        sum(resource);
    }

    private void changeRate(int flow, int resource, double to) {
        double less = rate[flow] - to;
        rate[flow] = to;
        int end = pathStart[flow + 1];
        for (int entry = pathStart[flow]; entry < end; entry++) {
            int other = path[entry];
            if (other != resource) {
                rest[other] += less;
                if (fastest[other] < to) {
                    fastest[other] = to;
                }
                look(other);
            }
        }
    }

    /** Makes a resource the bottleneck of a flow. */
    private void slow(int flow, int resource, double to) {
        int before = bottleneck[flow];
        double was = rate[flow];
        bottleneck[flow] = resource;
        rate[flow] = to;
        int end = pathStart[flow + 1];
        for (int entry = pathStart[flow]; entry < end; entry++) {
            int other = path[entry];
            if (before == NONE) {
                open[other]--;
            }
            if (other == resource) {
                if (before != NONE) {
                    swap(seatOf[entry], firstSeat[other] + own[other]++);
                }
                continue;
            }
            if (before == NONE || other == before) {
                swap(seatOf[entry], firstSeat[other] + --own[other]);
                rest[other] -= to;
            } else {
                rest[other] += was - to;
            }
            if (fastest[other] < to) {
                fastest[other] = to;
            }
            look(other);
        }
        if (!isMoved[flow]) {
            isMoved[flow] = true;
            moved[movedCount++] = flow;
        }
    }

    private void report(Listener listener) {
        for (int i = 0; i < changedCount; i++) {
            int resource = changed[i];
            isChanged[resource] = false;
            if (level[resource] != reportedLevel[resource]) {
                reportedLevel[resource] = level[resource];
                if (level[resource] != NO_LEVEL) {
                    listener.levelChanged(resource, level[resource]);
                }
            }
        }
        changedCount = 0;
        for (int i = 0; i < movedCount; i++) {
            int flow = moved[i];
            isMoved[flow] = false;
            if (bottleneck[flow] != reportedBottleneck[flow]) {
                reportedBottleneck[flow] = bottleneck[flow];
                listener.slowedBy(flow, bottleneck[flow]);
            }
        }
        movedCount = 0;
    }
}
