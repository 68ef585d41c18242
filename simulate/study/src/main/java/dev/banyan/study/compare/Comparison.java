package dev.banyan.study.compare;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.machine.CertificateReport;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.Limit;
import dev.banyan.study.machine.LinkRemarks;
import dev.banyan.study.machine.RelayChoice;
import dev.banyan.study.machine.SwitchRate;
import dev.banyan.study.measured.SimulatedNccl;
import dev.banyan.study.text.Numbers;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.jspecify.annotations.Nullable;

/**
 * Ways to carry an allreduce between the chosen devices beside the bound, in the order of their JSON.
 *
 * @param machine the machine's name
 * @param devices the devices that take part, by their numbers in the whole machine, in the order of ranks
 * @param relays devices that may forward for them
 * @param counted what the bound counts; absent where that is all that the machine has
 * @param boundGBs what no allreduce over these links can exceed, with the relays if there are any
 * @param bound the same, exact
 * @param certificate why
 * @param beyond greater limits, which count more; absent where the bound is what no schedule can exceed
 * @param boundWithoutRelaysGBs the bound without relays, where there are any
 * @param hint relays that would make it faster, if there are some and none were named
 * @param rows one per way
 * @param warnings one sentence each
 * @param assumed speeds that the description leaves open
 * @param remarks on the links, one sentence each
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Comparison(
        @JsonIgnore String machine,
        List<Integer> devices,
        List<Integer> relays,
        @JsonInclude(JsonInclude.Include.NON_EMPTY) String counted,
        double boundGBs,
        String bound,
        CertificateReport certificate,
        @JsonInclude(JsonInclude.Include.NON_EMPTY) List<Limit> beyond,
        @Nullable Double boundWithoutRelaysGBs,
        @Nullable String hint,
        List<Row> rows,
        List<String> warnings,
        @JsonIgnore List<String> assumed,
        @JsonIgnore List<String> remarks) {
    /** The part of a rate in floating point that rounding may add. */
    private static final double ROUNDING = 1e-9;

    /** The remark of rows that use more than the bound counts. */
    public static final String OVER_OTHERS =
            "uses links that the bound leaves out (PCIe beside NVLink or xGMI, or host memory between devices without a"
                    + " path)";

    /**
     * One way to carry it; without figures where it refuses the machine.
     *
     * @param ratio rate over bound, where a switch adds up over the bound with reduction in switches;
     *     absent where it goes over links that the bound leaves out, faster than those that it is about
     * @param predictedGBs algbw of 1 GiB out of place as {@code banyan predict} has it, where it has one
     * @param depth greatest number of hops between devices from a root to the last; absent where a switch reduces,
     *     and of imported schedules
     * @param trees number of trees or rings, where there are any and it is known
     * @param generationMs least time to build it, warm, in ms, where it was built
     * @param refusal why there are no figures
     * @param schedule where it was imported from, if it was
     * @param remark how its figures come about, where that needs words
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record Row(
            String name,
            @Nullable Double rateGBs,
            @Nullable Double ratio,
            @Nullable Double predictedGBs,
            @Nullable Integer depth,
            @Nullable Integer trees,
            @Nullable Double generationMs,
            @Nullable String refusal,
            ImportedSchedule.@Nullable Origin schedule,
            @Nullable String remark) {
        static Row of(Trial trial, Network network, BigFraction bound, @Nullable Double predictedGBs) {
            WayFigures figures = trial.figures();
            if (figures == null) {
                return new Row(trial.name(), null, null, null, null, null, null, trial.refusal(), null, null);
            }
            Double ratio = ratio(figures.rateGbs(), bound);
            return new Row(
                    trial.name(),
                    figures.rateGbs().doubleValue(),
                    ratio,
                    predictedGBs,
                    figures.depth(),
                    figures.trees(),
                    trial.generationMs(),
                    null,
                    null,
                    (figures.overOthers() && network.takesFastLinksAlone()) || ratio == null ? OVER_OTHERS : null);
        }

        static @Nullable Double ratio(BigFraction rate, BigFraction bound) {
            return rate.compareTo(bound) > 0
                    ? null
                    : (Double) rate.divide(bound).doubleValue();
        }
    }

    /**
     * Builds and rates all ways.
     *
     * @param algorithms algorithms that have schedules
     * @param relays devices of the whole machine that may forward
     * @param imported schedules of others for as many ranks
     * @param graphs graph files of NCCL for the same devices
     * @param execution what executes calls in predictions
     * @param onStep called once for each algorithm, and at the end
     */
    public static Comparison of(
            ChosenMachine chosen,
            int[] relays,
            List<AlgorithmConfig> algorithms,
            List<ImportedSchedule> imported,
            List<ImportedGraph> graphs,
            Execution execution,
            Runnable onStep) {
        Network network = chosen.network(relays);
        Bound bound = AllReducePacking.of(network).bound();
        Bound alone = relays.length == 0
                ? null
                : AllReducePacking.of(chosen.network()).bound();
        PredictedRates predicted = PredictedRates.of(chosen.machine(), execution);
        Map<AlgorithmChoice, SwitchRate> inSwitch = new EnumMap<>(AlgorithmChoice.class);
        if (execution == Execution.PROGRAMS) {
            SwitchRate.ofPacking(network, bound).ifPresent(rate -> inSwitch.put(AlgorithmChoice.PACKING, rate));
            SwitchRate.ofStar(network, bound).ifPresent(rate -> inSwitch.put(AlgorithmChoice.STAR, rate));
        }
        List<Row> ofSwitch = new ArrayList<>();
        List<Row> rows = new ArrayList<>();
        for (AlgorithmConfig algorithm : algorithms) {
            Trial trial = Trial.warm(new Contender(algorithm), chosen);
            Double gbs = trial.figures() == null ? null : (Double) predicted.gbs(algorithm);
            SwitchRate summed = inSwitch.get(algorithm.algorithm());
            if (summed != null) {
                ofSwitch.add(inTheSwitch(summed, gbs));
                gbs = null;
            }
            rows.add(Row.of(trial, network, bound.gbs(), gbs));
            onStep.run();
            if (algorithm.algorithm() == AlgorithmChoice.PACKING && relays.length > 0) {
                Trial relayed = Trial.warm("packing+relays", () -> {
                    WayFigures figures = WayFigures.of(AllReducePacking.of(chosen.network(relays)));
                    return () -> figures;
                });
                rows.add(Row.of(relayed, network, bound.gbs(), null));
            }
        }
        onStep.run();
        List<Limit> beyond = Limit.beyond(chosen, relays, network, Collective.ALL_REDUCE, -1, bound);
        rows.addAll(ofSwitch);
        rows.addAll(nccl(chosen, bound.gbs(), beyond));
        for (ImportedSchedule schedule : imported) {
            rows.add(schedule.row(free(schedule.schedule().algorithm(), rows), chosen, network, bound));
        }
        for (int graph = 0; graph < graphs.size(); graph++) {
            rows.addAll(graphs.get(graph).rows("nccl file" + (graph == 0 ? "" : " " + (graph + 1)), bound.gbs()));
        }
        return new Comparison(
                chosen.machine().name(),
                chosen.group(),
                Arrays.stream(relays).boxed().toList(),
                Limit.counted(network, Collective.ALL_REDUCE),
                bound.gbs().doubleValue(),
                Numbers.exact(bound.gbs()),
                CertificateReport.of(bound, network, Collective.ALL_REDUCE),
                beyond,
                alone == null ? null : alone.gbs().doubleValue(),
                relays.length > 0
                        ? null
                        : RelayChoice.of(chosen)
                                .map(choice -> choice.hint("--relays"))
                                .orElse(null),
                List.copyOf(rows),
                Stream.concat(chosen.machine().warnings().stream(), network.warnings().stream())
                        .toList(),
                chosen.assumed(),
                LinkRemarks.on(network, chosen.machine()));
    }

    private static Row inTheSwitch(SwitchRate rate, @Nullable Double predictedGbs) {
        return new Row(
                rate.name(),
                rate.gbs().doubleValue(),
                rate.ratio(),
                predictedGbs,
                null,
                null,
                null,
                null,
                null,
                rate.name().equals(SwitchRate.PACKING) ? rate.sentence() : null);
    }

    /**
     * NCCL, rated by its links as all others, and predicted by its model; with rings of its own, too, where the model
     * takes others.
     */
    private static List<Row> nccl(ChosenMachine chosen, BigFraction bound, List<Limit> beyond) {
        try {
            SimulatedNccl nccl = SimulatedNccl.compared(chosen.machine(), Profiles.of(chosen.machine()));
            double rate = nccl.linkRateGbs();
            double least = rate * (1 - ROUNDING);
            Optional<Limit> higher = least <= bound.doubleValue()
                    ? Optional.empty()
                    : beyond.stream().filter(limit -> limit.algbwGBs() >= least).findFirst();
            Row row = new Row(
                    nccl.name(),
                    rate,
                    rate / higher.map(Limit::algbwGBs).orElse(bound.doubleValue()),
                    PredictedRates.gbs(nccl),
                    nccl.goesThroughSwitch() ? null : chosen.machine().size() - 1,
                    null,
                    null,
                    null,
                    null,
                    nccl.remark(Collective.ALL_REDUCE)
                            + higher.map(limit -> ". Its ratio is to the bound (" + limit.counted() + ")")
                                    .orElse(""));
            // No time of NCCL's own rings is known, as it may not use their channels well.
            return Stream.concat(
                            nccl.ownRings().stream()
                                    .map(own -> new Row(
                                            AlgorithmChoice.NCCL.label() + " (own rings, at best)",
                                            own.linksGbs(),
                                            own.linksGbs() / bound.doubleValue(),
                                            null,
                                            chosen.machine().size() - 1,
                                            null,
                                            null,
                                            null,
                                            null,
                                            null)),
                            Stream.of(row))
                    .toList();
        } catch (IllegalArgumentException e) {
            return List.of(new Row(
                    AlgorithmChoice.NCCL.label(), null, null, null, null, null, null, e.getMessage(), null, null));
        }
    }

    /** The name, with a number after it where a row before has it. */
    private static String free(String name, List<Row> rows) {
        Set<String> taken = rows.stream().map(Row::name).collect(Collectors.toSet());
        return IntStream.iterate(1, number -> number + 1)
                .mapToObj(number -> number == 1 ? name : name + " (" + number + ")")
                .filter(candidate -> !taken.contains(candidate))
                .findFirst()
                .orElseThrow();
    }
}
