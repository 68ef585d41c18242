package dev.banyan.schedule.plan;

import dev.banyan.schedule.Schedule;
import dev.banyan.topology.Machine;
import dev.banyan.trees.packing.ForestCost;
import dev.banyan.trees.packing.LogicalLink;
import java.util.List;

/**
 * Predicts how long schedules take on one machine, so that the automatic choice between algorithms and chunk
 * lengths has something to go by. Implementations are found through their {@link Provider}; the simulator
 * is one. Where there is none, links alone are priced, by {@link dev.banyan.trees.packing.ForestCost}.
 *
 * <p>An implementation gives the same answer to the same question, whenever it is asked, and is safe for use from
 * any thread. Its answers should be of one kind: only their order and their ratios matter. It is asked some
 * hundred times for each kind of call, with schedules of up to some ten thousand steps, and should
 * take no more than about a microsecond per step.
 */
public interface CostModel {
    /**
     * How long a schedule takes alone.
     *
     * @param schedule any schedule over all devices of the machine
     * @param links the paths of pairs of ranks that don't go the {@linkplain dev.banyan.trees.network.Detours usual
     *     way}, by the nodes of {@link dev.banyan.trees.network.Network#ofAllLinks all links} of the machine
     * @return time in us, above 0 and finite
     */
    double predictedUs(Schedule schedule, List<LogicalLink> links);

    /**
     * A time per byte that no schedule over certain trees can beat, so that schedules of trees that can't win need not
     * be tried.
     *
     * @param cost the trees and how they load the links
     * @return time in us for each byte of all data, as nccl-tests count them, at least 0
     */
    double leastUsPerByte(ForestCost cost);

    /** Makes cost models; found by {@link java.util.ServiceLoader}, of which the first that it finds is taken. */
    interface Provider {
        /**
         * The model of a machine.
         *
         * @param machine of at least two devices; rank r is device r
         */
        CostModel on(Machine machine);
    }
}
