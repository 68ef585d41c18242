package dev.banyan.page.study;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The sets of devices that a page holds: all sets of up to a size that keeps their number within a limit, all sets
 * without one device, and the whole.
 */
final class DeviceGroups {
    /** Devices of which all sets are held. */
    private static final int MOST_COMPLETE = 8;
    /** Number of sets of larger machines, beside those without one device. */
    private static final int MOST_SETS = 700;

    private final int devices;
    private final int largest;

    DeviceGroups(int devices) {
        this.devices = devices;
        int size = 2;
        if (devices <= MOST_COMPLETE) {
            size = devices;
        } else {
            while (size < devices && count(size + 1) <= MOST_SETS) {
                size++;
            }
        }
        largest = size;
    }

    /** Number of sets of 2 to so many devices. */
    private long count(int most) {
        long sum = 0;
        for (int size = 2; size <= most; size++) {
            long ways = 1;
            for (int i = 1; i <= size; i++) {
                ways = ways * (devices - size + i) / i;
            }
            sum += ways;
        }
        return sum;
    }

    /** Every set of 2 devices up to so many is held. */
    int largest() {
        return largest;
    }

    /** The sets, ascending; the whole comes first, then others by size. */
    List<int[]> sets() {
        List<int[]> sets = new ArrayList<>();
        sets.add(IntStream.range(0, devices).toArray());
        for (int size = 2; size <= Math.min(largest, devices - 1); size++) {
            add(sets, new int[size], 0, 0);
        }
        if (devices - 1 > largest) {
            for (int left = 0; left < devices; left++) {
                int without = left;
                sets.add(IntStream.range(0, devices)
                        .filter(device -> device != without)
                        .toArray());
            }
        }
        return sets;
    }

    private void add(List<int[]> sets, int[] set, int filled, int next) {
        if (filled == set.length) {
            sets.add(set.clone());
            return;
        }
        for (int device = next; device <= devices - (set.length - filled); device++) {
            set[filled] = device;
            add(sets, set, filled + 1, device + 1);
        }
    }
}
