package dev.banyan.schedule.internal.algorithm;

import dev.banyan.topology.LinkMatrix;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Finds in how few rounds all devices can hear of all others over direct links. One round does where all pairs are
 * linked. Two do where the devices can be laid out in rows and columns, each of which is linked pair by pair: first
 * those of a row exchange what they have, then those of a column. On the hybrid cube mesh the rows are the two quads.
 *
 * <p>Where neither is found, all devices exchange in one round, however the data goes. The search for rows of g devices
 * tries at most {@value #MOST_TRIES} partial layouts; on up to 16 devices with few links it is far from that.
 */
final class DirectRounds {
    private static final int MOST_TRIES = 100_000;

    private final LinkMatrix links;
    private final int n;
    private final int width;
    /** The device at each place, row by row. */
    private final int[] layout;

    private final boolean[] used;
    private int tries;

    private DirectRounds(LinkMatrix links, int width) {
        this.links = links;
        this.width = width;
        n = links.size();
        layout = new int[n];
        used = new boolean[n];
    }

    /**
     * Returns the rounds: for each device, those with which it exchanges, itself among them, in an order that is the
     * same for all of them.
     */
    static List<int[][]> of(LinkMatrix links) {
        int n = links.size();
        int[] all = IntStream.range(0, n).toArray();
        List<int[][]> one = List.<int[][]>of(groups(n, List.<int[]>of(all)));
        if (areLinked(links, all)) {
            return one;
        }
        for (int width = n / 2; width > 1; width--) {
            if (n % width == 0) {
                DirectRounds rounds = new DirectRounds(links, width);
                if (rounds.place(0)) {
                    return rounds.found();
                }
            }
        }
        return one;
    }

    private static boolean areLinked(LinkMatrix links, int... devices) {
        return Arrays.stream(devices)
                .allMatch(a -> Arrays.stream(devices).allMatch(b -> a == b || links.weight(a, b) > 0));
    }

    private boolean place(int at) {
        if (at == n) {
            return true;
        }
        // The first of a row is the least device that is left: rows have no order.
        for (int device = 0; device < n && tries++ < MOST_TRIES; device++) {
            if (!used[device] && isLinked(device, at)) {
                used[device] = true;
                layout[at] = device;
                if (place(at + 1)) {
                    return true;
                }
                used[device] = false;
                if (at % width == 0) {
                    return false;
                }
            }
        }
        return false;
    }

    /** Returns whether a device has links to those before it in its row and its column. */
    private boolean isLinked(int device, int at) {
        for (int before = at - at % width; before < at; before++) {
            if (links.weight(layout[before], device) <= 0) {
                return false;
            }
        }
        for (int above = at - width; above >= 0; above -= width) {
            if (links.weight(layout[above], device) <= 0) {
                return false;
            }
        }
        return true;
    }

    private List<int[][]> found() {
        List<int[]> rows = new ArrayList<>();
        for (int row = 0; row < n; row += width) {
            rows.add(Arrays.copyOfRange(layout, row, row + width));
        }
        List<int[]> columns = new ArrayList<>();
        for (int column = 0; column < width; column++) {
            int first = column;
            columns.add(IntStream.range(0, n / width)
                    .map(row -> layout[row * width + first])
                    .toArray());
        }
        return List.of(groups(n, rows), groups(n, columns));
    }

    private static int[][] groups(int n, List<int[]> groups) {
        int[][] of = new int[n][];
        for (int[] group : groups) {
            for (int device : group) {
                of[device] = group;
            }
        }
        return of;
    }
}
