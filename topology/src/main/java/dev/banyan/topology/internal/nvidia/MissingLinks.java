package dev.banyan.topology.internal.nvidia;

import dev.banyan.topology.Device;
import dev.banyan.topology.internal.speed.GpuSpeeds;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.IntBinaryOperator;
import java.util.stream.IntStream;

/**
 * Finds GPUs that have fewer NVLinks than those beside them, as a fault leaves them.
 *
 * @param devices of the machine
 * @param lanes NVLinks of a pair
 */
record MissingLinks(List<Device> devices, IntBinaryOperator lanes) {
    /** Pairs of bridged cards are no group of which others would be part. */
    private static final int LEAST_GROUP = 3;

    /**
     * Returns a sentence for each such GPU.
     *
     * @param groups GPUs that NVLinks join
     */
    List<String> warnings(Collection<List<Integer>> groups, GpuSpeeds speeds) {
        List<String> warnings = new ArrayList<>();
        for (List<Integer> group : groups) {
            int usual = group.stream().mapToInt(gpu -> most(gpu, group)).max().orElse(0);
            boolean full = group.size() >= LEAST_GROUP
                    && 2 * group.stream().filter(gpu -> fewest(gpu, group) > 0).count() > devices.size();
            for (int gpu = 0; gpu < devices.size() && full; gpu++) {
                boolean alike = speeds.of(gpu)
                        .product()
                        .equals(speeds.of(group.getFirst()).product());
                int own = most(gpu, group);
                List<String> apart = apart(gpu, group);
                if (alike && own == 0) {
                    warnings.add(devices.get(gpu).name() + " has no NVLink to the others, which have " + usual
                            + ": its NVLinks or the GPU failed; look at \"nvidia-smi nvlink -s\" and reset it");
                } else if (alike && own < usual) {
                    warnings.add(devices.get(gpu).name() + " has " + own + " NVLinks where others have " + usual
                            + ": some of them failed; look at \"nvidia-smi nvlink -s\"");
                } else if (alike && 2 * apart.size() > group.size() - 1) {
                    warnings.add(devices.get(gpu).name() + " has no NVLink to " + String.join(", ", apart)
                            + ", which have " + usual + " to each other: look at \"nvidia-smi nvlink -s\"");
                }
            }
        }
        return warnings;
    }

    private int most(int gpu, List<Integer> group) {
        return others(gpu, group)
                .map(other -> lanes.applyAsInt(gpu, other))
                .max()
                .orElse(0);
    }

    private int fewest(int gpu, List<Integer> group) {
        return others(gpu, group)
                .map(other -> lanes.applyAsInt(gpu, other))
                .min()
                .orElse(0);
    }

    private List<String> apart(int gpu, List<Integer> group) {
        return others(gpu, group)
                .filter(other -> lanes.applyAsInt(gpu, other) == 0)
                .mapToObj(other -> devices.get(other).name())
                .toList();
    }

    private static IntStream others(int gpu, List<Integer> group) {
        return group.stream().mapToInt(Integer::intValue).filter(other -> other != gpu);
    }
}
