package dev.banyan.study.machine;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.text.Numbers;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Upper bounds of all collectives between the chosen devices, in the order of their JSON.
 *
 * @param machine the machine's name
 * @param devices the devices that take part, by their numbers in the whole machine, in the order of ranks
 * @param relays devices that may forward for them
 * @param rows one per collective
 * @param warnings one sentence each
 * @param assumed speeds that the description leaves open
 * @param rates how links are counted, one sentence each; absent where that needs no word
 */
public record MachineBounds(
        @JsonIgnore String machine,
        List<Integer> devices,
        List<Integer> relays,
        List<Row> rows,
        List<String> warnings,
        @JsonIgnore List<String> assumed,
        @JsonInclude(JsonInclude.Include.NON_EMPTY) List<String> rates) {
    /**
     * The bound of one collective over the links that plans use.
     *
     * @param collective as nccl-tests name it
     * @param root rank, where the collective has one
     * @param counted what the bound counts; absent where that is all that the machine has
     * @param algbwGBs algbw in GB/s, as nccl-tests define it
     * @param busbwGBs the same times nccl-tests' factor
     * @param bound algbw, exact
     * @param certificate why
     * @param beyond greater limits, which count more; absent where the bound is what no schedule can exceed
     * @param switchGBs algbw in GB/s at which the links are full where kernels let a switch add up; absent without one
     * @param inTheSwitch the same for people
     */
    @JsonInclude(JsonInclude.Include.NON_EMPTY)
    public record Row(
            String collective,
            @Nullable Integer root,
            String counted,
            double algbwGBs,
            double busbwGBs,
            String bound,
            CertificateReport certificate,
            List<Limit> beyond,
            @Nullable Double switchGBs,
            @JsonIgnore String inTheSwitch) {
        private static Row of(Collective collective, int root, ChosenMachine chosen, int[] relays, Network network) {
            Bound bound = Limit.bound(collective, network, root);
            double algbw = bound.gbs().doubleValue();
            Optional<SwitchRate> reduced =
                    collective == Collective.ALL_REDUCE ? SwitchRate.ofPacking(network, bound) : Optional.empty();
            return new Row(
                    collective.label(),
                    collective.hasRoot() ? root : null,
                    Limit.counted(network, collective),
                    algbw,
                    algbw * collective.busFactor(network.ranks()),
                    Numbers.exact(bound.gbs()),
                    CertificateReport.of(bound, network, collective),
                    Limit.beyond(chosen, relays, network, collective, root, bound),
                    reduced.map(rate -> rate.gbs().doubleValue()).orElse(null),
                    reduced.map(SwitchRate::sentence).orElse(""));
        }
    }

    /**
     * Computes the bounds.
     *
     * @param relays devices of the whole machine that may forward
     * @param root of the broadcast and the reduce
     */
    public static MachineBounds of(ChosenMachine chosen, int[] relays, int root) {
        Network network = chosen.network(relays);
        return new MachineBounds(
                chosen.machine().name(),
                chosen.group(),
                Arrays.stream(relays).boxed().toList(),
                Arrays.stream(Collective.values())
                        .map(collective -> Row.of(collective, root, chosen, relays, network))
                        .toList(),
                Stream.concat(chosen.machine().warnings().stream(), network.warnings().stream())
                        .toList(),
                chosen.assumedOfAllLinks(),
                LinkRemarks.onAllLinks(chosen, relays));
    }
}
