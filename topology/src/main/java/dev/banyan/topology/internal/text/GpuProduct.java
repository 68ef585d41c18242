package dev.banyan.topology.internal.text;

import dev.banyan.topology.LinkSpeeds;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The properties of a GPU's links that its model name implies. The generations of PCIe, NVLink and xGMI are those of
 * NVIDIA's and AMD's data sheets.
 *
 * @param sm compute capability times 10; 0 for AMD's
 * @param gcn architecture of AMD's, as RCCL numbers it; else empty
 * @param pcieGeneration generation of its slot
 * @param trait what else sets it apart
 */
public record GpuProduct(int sm, String gcn, int pcieGeneration, Trait trait) {
    /** Properties that few models have. */
    public enum Trait {
        /** None of them. */
        NONE,
        /**
         * NVIDIA's driver refuses peer access between any two, as for GeForce cards from series 40 on (NVIDIA developer
         * forums, "Standard nVidia CUDA tests fail with dual RTX 4090", 2023; patched drivers exist).
         */
        NO_PEER_ACCESS,
        /** Two dies in one package that are two devices, joined by four xGMI links (AMD CDNA 2 whitepaper). */
        TWO_DIES
    }

    private record Family(Pattern name, GpuProduct product) {}

    /** The end of the name of a virtual GPU, e.g. {@code A100D-80C}: its links are not those of the model. */
    private static final Pattern VIRTUAL = Pattern.compile("-\\d{1,3}[ABCQ]$|^GRID ");

    /** The first that fits decides. */
    private static final List<Family> FAMILIES = List.of(
            family("G?B[23]00\\b", 100, 5),
            geForce("RTX 50[5-9]\\d|^50[5-9]0", 120, 5),
            family("RTX PRO \\d+", 120, 5),
            family("\\bG?H(20|100|200|800)\\b", 90, 5),
            family("\\bL(4|20|40S?)\\b|RTX \\d{4} ?(SFF )?Ada", 89, 4),
            geForce("RTX 40[5-9]\\d|^40[5-9]0", 89, 4),
            family("\\bA(100|30|800)\\b", 80, 4),
            family("\\bA(2|10G?|16|40)\\b|RTX A\\d{3,4}|RTX 30\\d\\d|^30\\d0", 86, 4),
            family("\\bV100", 70, 3),
            family("\\bT4\\b|TITAN RTX|Quadro RTX|RTX 20\\d\\d|GTX 16\\d\\d|RTX \\d000$", 75, 3),
            family("\\bP100\\b", 60, 3),
            family("\\bP(4|40)\\b|GTX 10\\d\\d|TITAN X", 61, 3),
            family("\\bK80\\b", 37, 3),
            amd("MI3[05]5X|MI350X", "950", 5, Trait.NONE),
            amd("MI3(00|08|25)[AX]?", "942", 5, Trait.NONE),
            amd("MI250X?", "910", 4, Trait.TWO_DIES),
            amd("MI210X?", "910", 4, Trait.NONE),
            amd("MI100", "908", 4, Trait.NONE),
            amd("MI[56]0\\b", "906", 4, Trait.NONE));

    /** No digit follows a number: there is no RTX 30900. */
    private static Pattern pattern(String name) {
        return Pattern.compile("(" + name + ")(?!\\d)");
    }

    private static Family family(String name, int sm, int pcieGeneration) {
        return new Family(pattern(name), new GpuProduct(sm, "", pcieGeneration, Trait.NONE));
    }

    private static Family geForce(String name, int sm, int pcieGeneration) {
        return new Family(pattern(name), new GpuProduct(sm, "", pcieGeneration, Trait.NO_PEER_ACCESS));
    }

    private static Family amd(String name, String gcn, int pcieGeneration, Trait trait) {
        return new Family(pattern(name), new GpuProduct(0, gcn, pcieGeneration, trait));
    }

    /** The product of a model name, e.g. {@code NVIDIA A100-SXM4-40GB}; empty where it is not known. */
    public static Optional<GpuProduct> of(String model) {
        return FAMILIES.stream()
                .filter(family -> !VIRTUAL.matcher(model).find())
                .filter(family -> family.name.matcher(model).find())
                .map(Family::product)
                .findFirst();
    }

    /** Returns whether NVIDIA's driver refuses peer access between any two. */
    public boolean refusesPeerAccess() {
        return trait == Trait.NO_PEER_ACCESS;
    }

    /** Returns whether it is one of NVIDIA's that are cards alone; a slot may have fewer lanes than the card. */
    public boolean isCard() {
        return switch (sm) {
            case 37, 61, 75, 86, 89, 120 -> true;
            default -> false;
        };
    }

    /** Returns the greatest number of NVLinks that a card of this kind has (sources as {@link LinkSpeeds}). */
    public int mostNvlinks() {
        return switch (sm) {
            case 60, 86 -> 4;
            case 70 -> 6;
            case 75 -> 2;
            case 80 -> 12;
            case 90, 100 -> 18;
            default -> 0;
        };
    }

    /** One NVLink or xGMI link one way in GB/s. */
    public double linkGbs() {
        return gcn.isEmpty() ? LinkSpeeds.nvlinkLaneGbs(sm) : LinkSpeeds.xgmiLaneGbs(gcn);
    }
}
