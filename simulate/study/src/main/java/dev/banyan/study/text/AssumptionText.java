package dev.banyan.study.text;

import dev.banyan.topology.internal.pcie.PcieHierarchy;
import dev.banyan.topology.internal.peer.RefusedPairs;
import dev.banyan.topology.internal.speed.SpeedChoice;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** A description's assumptions in words. */
public final class AssumptionText {
    /** Words of assumptions on speeds, and what replaces these. */
    private static final List<Replaced> REPLACED = List.of(
            new Replaced(SpeedChoice.BETWEEN_SOCKETS, List.of("--socket-gbs")),
            new Replaced(SpeedChoice.PCIE_GENERATION, List.of("--gpu", "--pcie-gen")),
            new Replaced(SpeedChoice.FULL_WIDTH, List.of("--pcie-lanes")),
            new Replaced(SpeedChoice.PER_LINK, List.of("--gpu", "--nvlink-gbs")),
            new Replaced(SpeedChoice.INSIDE_CPU, List.of("the JSON of topo --write json")),
            new Replaced(PcieHierarchy.HIDDEN, List.of("the JSON of topo --write json")));

    /** Words of assumptions that leave NVLinks as they are described. */
    private static final List<String> BESIDE_NVLINKS = List.of(
            SpeedChoice.BETWEEN_SOCKETS,
            SpeedChoice.PCIE_GENERATION,
            SpeedChoice.FULL_WIDTH,
            SpeedChoice.INSIDE_CPU,
            PcieHierarchy.HIDDEN,
            RefusedPairs.GRANTED);

    private record Replaced(String words, List<String> remedies) {}

    private AssumptionText() {}

    /** Returns whether some of the assumptions are more than {@link PcieHierarchy#HIDDEN}, which states no speed. */
    public static boolean hasSpeeds(List<String> assumed) {
        return assumed.stream().anyMatch(phrase -> !phrase.equals(PcieHierarchy.HIDDEN));
    }

    /** Returns one sentence on assumptions, without a full stop; empty where there is none. */
    public static Optional<String> of(List<String> assumed) {
        if (assumed.isEmpty()) {
            return Optional.empty();
        }
        String remedies = REPLACED.stream()
                .filter(one -> assumed.stream().anyMatch(phrase -> phrase.contains(one.words())))
                .flatMap(one -> one.remedies().stream())
                .distinct()
                .collect(Collectors.joining(" or "));
        String cpu = assumed.stream().anyMatch(phrase -> phrase.endsWith(SpeedChoice.BETWEEN_SOCKETS))
                ? "add lscpu's lines Architecture, Vendor ID, CPU family and Model to the file, or "
                : "";
        return Optional.of("assumed: " + String.join("; ", assumed)
                + (assumed.stream().allMatch(phrase -> BESIDE_NVLINKS.stream().anyMatch(phrase::contains))
                        ? "; no other speed is assumed"
                        : "")
                + (remedies.isEmpty() ? "" : " (" + cpu + "state what you know by " + remedies + ")"));
    }
}
