package dev.banyan.study.compare;

import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.topology.Machine;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** Sets of the chosen devices, by size and then in lexicographic order. */
public final class DeviceSets {
    private DeviceSets() {}

    /** Returns the number of sets of the given sizes. */
    public static BigInteger count(int devices, int least, int most) {
        return IntStream.rangeClosed(least, most)
                .mapToObj(size -> choose(devices, size))
                .reduce(BigInteger.ZERO, BigInteger::add);
    }

    private static BigInteger choose(int n, int k) {
        BigInteger ways = BigInteger.ONE;
        for (int i = 1; i <= k; i++) {
            ways = ways.multiply(BigInteger.valueOf(n - k + i)).divide(BigInteger.valueOf(i));
        }
        return ways;
    }

    /** Returns the sets of the given sizes, each in the order of the devices. */
    public static List<int[]> of(int[] devices, int least, int most) {
        List<int[]> sets = new ArrayList<>();
        for (int size = least; size <= most; size++) {
            int[] at = IntStream.range(0, size).toArray();
            do {
                sets.add(IntStream.of(at).map(i -> devices[i]).toArray());
            } while (next(at, devices.length));
        }
        return sets;
    }

    /** The next ascending indices in lexicographic order; false after the last. */
    private static boolean next(int[] at, int n) {
        int i = at.length - 1;
        while (i >= 0 && at[i] == n - at.length + i) {
            i--;
        }
        if (i < 0) {
            return false;
        }
        at[i]++;
        for (int j = i + 1; j < at.length; j++) {
            at[j] = at[j - 1] + 1;
        }
        return true;
    }

    /**
     * Returns whether NVLink-class links join the set, with its relays; any set, where the machine has no such links.
     */
    static boolean connected(ChosenMachine set, int[] relays) {
        return !hasNvlink(set.whole()) || set.network(relays).joinedByNvlink();
    }

    private static boolean hasNvlink(Machine machine) {
        return machine.links().stream().anyMatch(link -> link.kind().isNvLinkClass());
    }
}
