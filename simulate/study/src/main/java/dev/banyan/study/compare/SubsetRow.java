package dev.banyan.study.compare;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import dev.banyan.config.Config;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.TreeGenerator;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.text.Numbers;
import dev.banyan.trees.packing.TreePacking;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import dev.banyan.trees.ring.RingSet;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.commons.numbers.fraction.BigFraction;
import org.jspecify.annotations.Nullable;

/**
 * One set of devices, in the order of the JSON. Ratios are rates over the bound without relays.
 *
 * @param devices by their numbers in the whole machine
 * @param nvlinkRing whether NVLink alone has a ring over them
 * @param rateGBs of the packing
 * @param rate the same, exact
 * @param boundGBs what no allreduce can exceed
 * @param packing ratio of the packing
 * @param kernighanLin ratio of Kernighan-Lin's trees
 * @param rings ratio of the best set of rings
 * @param star ratio of the best star
 * @param trees of the packing
 * @param depth of the packing
 * @param generationMs least time to build the packing, in ms
 * @param relays what may forward, or null where that was not asked for
 * @param rateWithRelaysGBs of the better of the packings with and without relays
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record SubsetRow(
        List<Integer> devices,
        boolean nvlinkRing,
        double rateGBs,
        String rate,
        double boundGBs,
        double packing,
        double kernighanLin,
        double rings,
        double star,
        int trees,
        int depth,
        double generationMs,
        @Nullable List<Integer> relays,
        @Nullable Double rateWithRelaysGBs) {
    /**
     * Tries all ways on a set.
     *
     * @param relays what may forward, or null where that was not asked for
     */
    public static SubsetRow of(ChosenMachine set, int @Nullable [] relays) {
        TreePacking packing = AllReducePacking.of(set.network());
        Trial timed = Trial.timeQuickly(new Contender(AlgorithmConfig.of(AlgorithmChoice.PACKING)), set);
        BigFraction bound = packing.bound().gbs();
        Config settings = Contender.settings();
        return new SubsetRow(
                set.group(),
                packing.network().joinedByNvlink()
                        && RingSet.of(packing.network()).isPresent(),
                packing.rateGbs().doubleValue(),
                Numbers.exact(packing.rateGbs()),
                bound.doubleValue(),
                packing.ratio().doubleValue(),
                ratio(
                        AlgorithmConfig.of(AlgorithmChoice.MULTI_TREE).withTrees(TreeGenerator.KERNIGHAN_LIN),
                        set,
                        settings,
                        bound),
                ratio(AlgorithmConfig.of(AlgorithmChoice.RING), set, settings, bound),
                ratio(AlgorithmConfig.of(AlgorithmChoice.STAR), set, settings, bound),
                packing.trees().size(),
                packing.depth(),
                timed.generationMs(),
                relays == null ? null : Arrays.stream(relays).boxed().toList(),
                relays == null ? null : withRelays(packing, set, relays).doubleValue());
    }

    private static double ratio(AlgorithmConfig choice, ChosenMachine set, Config settings, BigFraction bound) {
        return new Contender(choice)
                .build(set, settings)
                .get()
                .rateGbs()
                .divide(bound)
                .doubleValue();
    }

    private static BigFraction withRelays(TreePacking alone, ChosenMachine set, int[] relays) {
        BigFraction rate = relays.length == 0
                ? alone.rateGbs()
                : AllReducePacking.of(set.network(relays)).rateGbs();
        return rate.compareTo(alone.rateGbs()) > 0 ? rate : alone.rateGbs();
    }

    /** Returns the gain by relays, as a factor. */
    @JsonIgnore
    public double gain() {
        return rateWithRelaysGBs == null ? 1 : rateWithRelaysGBs / rateGBs;
    }

    @JsonIgnore
    public int size() {
        return devices.size();
    }

    @JsonIgnore
    public String name() {
        return devices.stream().map(Object::toString).collect(Collectors.joining(","));
    }
}
