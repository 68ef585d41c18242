package dev.banyan.topology.internal.amd;

import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.speed.GpuSpeeds;
import dev.banyan.topology.internal.text.GpuProduct;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The number of xGMI links of each pair that is one hop apart, which AMD's tools do not print.
 *
 * <p>Eight dies of four MI250X have four links within a package, and two or one to the dies of others: 200, 100 and 50
 * GB/s. These are the links of the 8P1H node that RCCL's topology explorer knows. The weight of such a pair is 15
 * whatever its number of links; the kernel driver gives 15 for each hop (amdgpu_amdkfd_get_xgmi_hops_count). Sixteen
 * dies are joined as those of the preset {@code mi250x8}, RCCL's 16P1H node.
 */
final class XgmiLanes {
    private static final int PACKAGE_LINKS = 4;

    private static final int[][] FOUR_MI250X = {
        {0, 1, 4}, {2, 3, 4}, {4, 5, 4}, {6, 7, 4}, {0, 6, 2}, {2, 4, 2},
        {0, 2, 1}, {1, 3, 1}, {1, 5, 1}, {3, 7, 1}, {4, 6, 1}, {5, 7, 1},
    };

    private final List<int[]> links = new ArrayList<>();
    private final String assumed;

    /**
     * @param pairs one hop apart, the lower index first
     * @param size number of devices
     */
    XgmiLanes(List<int[]> pairs, int size, GpuSpeeds speeds) {
        Optional<GpuProduct> product = speeds.whole().product();
        boolean twoDies = product.filter(known -> known.trait() == GpuProduct.Trait.TWO_DIES)
                .isPresent();
        List<int[]> known = size == 8 ? List.of(FOUR_MI250X) : size == 16 ? eightMi250x() : List.of();
        if ((twoDies || product.isEmpty()) && !known.isEmpty() && areSamePairs(pairs, known)) {
            links.addAll(known);
            assumed = "4, 2 or 1 xGMI links for each pair, as " + (size == 8 ? "four" : "eight") + " MI250X have";
            return;
        }
        for (int[] pair : pairs) {
            boolean inPackage = twoDies && pair[0] % 2 == 0 && pair[1] == pair[0] + 1;
            links.add(new int[] {pair[0], pair[1], inPackage ? PACKAGE_LINKS : 1});
        }
        assumed = twoDies
                ? "4 xGMI links within each package of two dies, and one for each other pair that xGMI joins"
                : "one xGMI link for each pair that xGMI joins";
    }

    private static List<int[]> eightMi250x() {
        return Machine.preset("mi250x8").links().stream()
                .filter(link -> link.kind() == Link.Kind.XGMI)
                .map(link -> new int[] {Math.min(link.a(), link.b()), Math.max(link.a(), link.b()), link.lanes()})
                .toList();
    }

    private static boolean areSamePairs(List<int[]> pairs, List<int[]> known) {
        return pairs.size() == known.size()
                && known.stream()
                        .allMatch(link -> pairs.stream().anyMatch(pair -> pair[0] == link[0] && pair[1] == link[1]));
    }

    /** Returns a pair and its number of links each. */
    List<int[]> links() {
        return links;
    }

    /** Returns what was assumed, in words. */
    String assumed() {
        return assumed;
    }
}
