package dev.banyan.page.study;

import dev.banyan.study.compare.DeviceSets;
import java.math.BigInteger;
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
    private static final BigInteger MOST_SETS = BigInteger.valueOf(700);

    private final int devices;
    private final int largest;

    DeviceGroups(int devices) {
        this.devices = devices;
        int size = 2;
        if (devices <= MOST_COMPLETE) {
            size = devices;
        } else {
            while (size < devices && DeviceSets.count(devices, 2, size + 1).compareTo(MOST_SETS) <= 0) {
                size++;
            }
        }
        largest = size;
    }

    /** Every set of 2 devices up to so many is held. */
    int largest() {
        return largest;
    }

    /** The sets, ascending; the whole comes first, then others by size. */
    List<int[]> sets() {
        List<int[]> sets = new ArrayList<>();
        int[] all = IntStream.range(0, devices).toArray();
        sets.add(all);
        sets.addAll(DeviceSets.of(all, 2, Math.min(largest, devices - 1)));
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
}
