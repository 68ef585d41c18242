package dev.banyan.simulate.internal.rate;

import java.util.Arrays;

/**
 * Finds when flows that share links will end. All flows that a resource slows have one rate, its level, so that
 * they end in the order of what they still have to send, whatever becomes of the level. Each resource has a clock
 * that counts what each of its flows has sent, and a flow ends when the clock shows what it showed when the flow
 * came, and the flow's bytes more. A new level then moves one end per resource and none per flow: O(1), and O(flows
 * of the resource) when one of them ends or leaves that would be next.
 *
 * <p>Source: the virtual time of A. Parekh, R. Gallager, "A Generalized Processor Sharing Approach to Flow Control
 * in Integrated Services Networks", IEEE/ACM Transactions on Networking 1(3), 1993, section II, per bottleneck.
 */
public final class SharedEnds {
    private static final long NEVER = Long.MAX_VALUE;
    private static final int ABSENT = -1;

    /** By resource: what its clock shows, when that was read, and how fast it goes on. */
    private final double[] clock;

    private final long[] readAt;
    private final double[] level;
    /** By resource: its first seat, the number of flows on seats, and the least that a clock shows at an end. */
    private final int[] firstSeat;

    private final int[] size;
    private final double[] least;
    /** By resource: the time of its next end; never without flows. */
    private final long[] end;
    /** By seat: the flow, and what the clock shows when it ends. */
    private final int[] flowOn;

    private final double[] shows;
    /** By flow. */
    private final int[] seatOf;

    private final int[] resourceOf;
    private final double[] bytes;

    /** Resources with flows, and the place of each. */
    private final int[] used;

    private final int[] placeOf;
    private int usedCount;
    /** Resources whose next end is not known. */
    private final int[] stale;

    private final boolean[] isStale;
    private int staleCount;
    private long next = NEVER;

    /**
     * @param pathStart where each flow's path begins in {@code path}, and the end of the last
     * @param path resources
     * @param resources number of resources
     */
    public SharedEnds(int[] pathStart, int[] path, int resources) {
        int flows = pathStart.length - 1;
        clock = new double[resources];
        readAt = new long[resources];
        level = new double[resources];
        firstSeat = Starts.of(path, path.length, resources);
        size = new int[resources];
        least = new double[resources];
        end = new long[resources];
        flowOn = new int[path.length];
        shows = new double[path.length];
        seatOf = new int[flows];
        Arrays.fill(seatOf, ABSENT);
        resourceOf = new int[flows];
        bytes = new double[flows];
        used = new int[resources];
        placeOf = new int[resources];
        stale = new int[resources];
        isStale = new boolean[resources];
    }

    public boolean isEmpty() {
        return usedCount == 0;
    }

    /** Sets the bytes that a flow sends once it is {@linkplain #slow slowed} by a resource. */
    public void begin(int flow, double length) {
        bytes[flow] = length;
    }

    /** Gives a flow that has ended at this time more bytes to send; its bottleneck stays. */
    public void resume(int flow, double length, long now) {
        int resource = resourceOf[flow];
        read(resource, now);
        sit(flow, resource, length);
    }

    /** A resource gives each of its flows another rate, in bytes per tick. */
    public void setLevel(int resource, double rate, long now) {
        read(resource, now);
        level[resource] = rate;
        expire(resource);
    }

    /** Makes a resource the bottleneck of a flow. */
    public void slow(int flow, int resource, long now) {
        read(resource, now);
        int seat = seatOf[flow];
        if (seat == ABSENT) {
            sit(flow, resource, bytes[flow]);
        } else {
            int before = resourceOf[flow];
            read(before, now);
            double rest = shows[seat] - clock[before];
            rise(seat, before);
            sit(flow, resource, rest);
        }
    }

    private void read(int resource, long now) {
        clock[resource] += level[resource] * (now - readAt[resource]);
        readAt[resource] = now;
    }

    private void sit(int flow, int resource, double rest) {
        if (size[resource] == 0) {
            clock[resource] = 0;
            least[resource] = Double.POSITIVE_INFINITY;
            placeOf[resource] = usedCount;
            used[usedCount++] = resource;
        }
        int seat = firstSeat[resource] + size[resource]++;
        double last = clock[resource] + rest;
        flowOn[seat] = flow;
        shows[seat] = last;
        seatOf[flow] = seat;
        resourceOf[flow] = resource;
        if (last < least[resource]) {
            least[resource] = last;
            expire(resource);
        }
    }

    /** Takes a flow off its seat. */
    private void rise(int seat, int resource) {
        seatOf[flowOn[seat]] = ABSENT;
        double gone = shows[seat];
        int last = firstSeat[resource] + --size[resource];
        if (seat != last) {
            flowOn[seat] = flowOn[last];
            shows[seat] = shows[last];
            seatOf[flowOn[seat]] = seat;
        }
        if (size[resource] == 0) {
            empty(resource);
        } else if (gone <= least[resource]) {
            findLeast(resource);
        }
    }

    private void empty(int resource) {
        int place = placeOf[resource];
        int last = used[--usedCount];
        used[place] = last;
        placeOf[last] = place;
    }

    /** Finds the flow that ends first, and restarts the clock from 0, so that it does not lose precision. */
    private void findLeast(int resource) {
        double start = clock[resource];
        double lowest = Double.POSITIVE_INFINITY;
        int first = firstSeat[resource];
        for (int seat = first; seat < first + size[resource]; seat++) {
            double rest = shows[seat] - start;
            shows[seat] = rest;
            if (rest < lowest) {
                lowest = rest;
            }
        }
        clock[resource] = 0;
        least[resource] = lowest;
        expire(resource);
    }

    private void expire(int resource) {
        if (!isStale[resource]) {
            isStale[resource] = true;
            stale[staleCount++] = resource;
        }
    }

    /** Recomputes the next ends of resources that changed; all are later than the given time. */
    public void settle(long now) {
        for (int i = 0; i < staleCount; i++) {
            int resource = stale[i];
            isStale[resource] = false;
            if (size[resource] > 0) {
                end[resource] = Math.max(now + 1, endAt(resource, least[resource]));
            }
        }
        staleCount = 0;
        next = NEVER;
        for (int i = 0; i < usedCount; i++) {
            next = Math.min(next, end[used[i]]);
        }
    }

    private long endAt(int resource, double last) {
        return Clock.later(readAt[resource], (last - clock[resource]) / level[resource]);
    }

    /** Returns the time of the next end, or the greatest long if no flow is left. */
    public long next() {
        return next;
    }

    /**
     * Takes the flows that end at a time that is not after any other's.
     *
     * @param into where they are put from the start on
     * @return how many they are
     */
    public int take(long time, int[] into) {
        int taken = 0;
        if (time < next) {
            return taken;
        }
        for (int i = usedCount - 1; i >= 0; i--) {
            int resource = used[i];
            if (end[resource] == time) {
                taken = take(resource, time, into, taken);
            }
        }
        return taken;
    }

    private int take(int resource, long time, int[] into, int before) {
        int taken = before;
        int first = firstSeat[resource];
        int kept = first;
        // Only transfers that one tick more reaches can end now, so that only these need a division.
        double beyond = clock[resource] + level[resource] * (time + 1 - readAt[resource]);
        for (int seat = first; seat < first + size[resource]; seat++) {
            int flow = flowOn[seat];
            if (shows[seat] <= beyond && endAt(resource, shows[seat]) <= time) {
                into[taken++] = flow;
                seatOf[flow] = ABSENT;
            } else {
                flowOn[kept] = flow;
                shows[kept] = shows[seat];
                seatOf[flow] = kept++;
            }
        }
        size[resource] = kept - first;
        if (size[resource] == 0) {
            empty(resource);
        } else {
            read(resource, time);
            findLeast(resource);
        }
        return taken;
    }
}
