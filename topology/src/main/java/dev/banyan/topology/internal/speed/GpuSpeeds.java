package dev.banyan.topology.internal.speed;

import dev.banyan.topology.internal.text.GpuProduct;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The speeds of one reading where each GPU may be of its own model. Used once. */
public final class GpuSpeeds {
    private final StatedSpeeds stated;
    private final Map<Optional<GpuProduct>, SpeedChoice> byProduct = new LinkedHashMap<>();
    private final List<SpeedChoice> byGpu = new ArrayList<>();

    /** @param found the model of each GPU that the description names, if it names one */
    public GpuSpeeds(StatedSpeeds stated, List<Optional<GpuProduct>> found) {
        this.stated = stated;
        for (Optional<GpuProduct> product : found) {
            byGpu.add(byProduct.computeIfAbsent(product, key -> new SpeedChoice(stated, key)));
        }
    }

    /** Returns the speeds of one GPU. */
    public SpeedChoice of(int gpu) {
        return byGpu.get(gpu);
    }

    /** Returns those that concern the machine as a whole. */
    public SpeedChoice whole() {
        return byGpu.isEmpty()
                ? byProduct.computeIfAbsent(Optional.empty(), key -> new SpeedChoice(stated, key))
                : byGpu.getFirst();
    }

    /** One link of a pair in GB/s one way: that of the slower end. See {@link SpeedChoice#linkGbs}. */
    public double linkGbs(int a, int b, double usual, String what) {
        return Math.min(of(a).linkGbs(usual, what), of(b).linkGbs(usual, what));
    }

    /** Returns a sentence for each model whose PCIe is slower than stated. */
    public List<String> warnings() {
        return byProduct.keySet().stream()
                .flatMap(Optional::stream)
                .map(GpuProduct::pcieGeneration)
                .filter(generation -> generation < stated.pcieGeneration())
                .distinct()
                .map(generation -> "PCIe gen" + stated.pcieGeneration() + " is stated, but the GPUs' model has gen"
                        + generation + ": check the generation, which sets the speeds of PCIe")
                .toList();
    }

    /** Returns the assumptions so far, one phrase each. */
    public List<String> assumed() {
        Set<String> all = new LinkedHashSet<>();
        byProduct.values().forEach(choice -> all.addAll(choice.assumed()));
        return List.copyOf(all);
    }
}
