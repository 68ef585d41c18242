package dev.banyan.study.compare;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.ScheduleTraffic;
import dev.banyan.schedule.internal.algorithm.ScheduleLoads;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.machine.CertificateReport;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.text.Numbers;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.bound.GatherBound;
import dev.banyan.trees.bound.RootBound;
import dev.banyan.trees.network.Detours;
import dev.banyan.trees.network.Network;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.jspecify.annotations.Nullable;

/**
 * A schedule that somebody else made.
 *
 * @param file the file's name
 * @param schedule what it says, proven
 */
public record ImportedSchedule(String file, Schedule schedule) {
    /**
     * The origin of a row's figures, in the order of the JSON.
     *
     * @param file the file's name
     * @param collective what the schedule does
     * @param root the root of that, where it has one
     * @param boundGBs what no schedule of that collective can exceed
     * @param bound the same, exact
     * @param certificate why
     * @param allLinks whether it goes between devices that the links of the bound do not join, so that it is rated
     *     on all links of the machine, which may be more than the bound counts
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record Origin(
            String file,
            String collective,
            @Nullable Integer root,
            double boundGBs,
            String bound,
            CertificateReport certificate,
            boolean allLinks) {
        /** The collective, e.g. {@code broadcast from rank 0}. */
        public String task() {
            return root == null
                    ? collective
                    : collective + (collective.equals(Collective.REDUCE.label()) ? " to" : " from") + " rank " + root;
        }
    }

    /**
     * Its row.
     *
     * @param name what to call it
     * @param network the links that count for the bound
     * @param allReduce the bound of an allreduce
     */
    Comparison.Row row(String name, ChosenMachine chosen, Network network, Bound allReduce) {
        ScheduleTraffic traffic = ScheduleTraffic.of(schedule);
        boolean joined = joins(chosen.network(), traffic);
        BigFraction rate = ScheduleLoads.of(traffic, joined ? chosen.network() : chosen.allLinks())
                .rateGbs();
        Bound bound = bound(network, allReduce);
        return new Comparison.Row(
                name,
                rate.doubleValue(),
                Comparison.Row.ratio(rate, bound.gbs()),
                null,
                null,
                null,
                null,
                null,
                new Origin(
                        file,
                        schedule.collective().label(),
                        schedule.collective().hasRoot() ? schedule.root() : null,
                        bound.gbs().doubleValue(),
                        Numbers.exact(bound.gbs()),
                        CertificateReport.of(bound, network, schedule.collective()),
                        !joined),
                null);
    }

    /** Returns whether the links lead wherever data go. */
    private static boolean joins(Network network, ScheduleTraffic traffic) {
        Detours detours = new Detours(network);
        int n = traffic.ranks();
        return IntStream.range(0, n * n)
                .filter(pair -> traffic.bytesBetween(pair / n, pair % n) > 0)
                .allMatch(pair -> detours.path(pair / n, pair % n) != null);
    }

    private Bound bound(Network network, Bound allReduce) {
        return switch (schedule.collective()) {
            case ALL_REDUCE -> allReduce;
            case BROADCAST -> RootBound.broadcast(network, schedule.root());
            case REDUCE -> RootBound.reduce(network, schedule.root());
            case ALL_GATHER -> GatherBound.allGather(network);
            case REDUCE_SCATTER -> GatherBound.reduceScatter(network);
        };
    }
}
