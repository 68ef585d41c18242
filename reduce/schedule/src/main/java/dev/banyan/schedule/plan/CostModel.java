package dev.banyan.schedule.plan;

import dev.banyan.schedule.Schedule;
import dev.banyan.topology.Machine;
import dev.banyan.trees.packing.ForestCost;
import dev.banyan.trees.packing.LogicalLink;
import java.util.List;

/**
 * Predicts how long schedules take on one machine, for the automatic choice between algorithms and chunk lengths.
 * Implementations are found through their {@link Provider}; the simulator is one. Without an implementation {@link
 * dev.banyan.trees.packing.ForestCost} prices the links alone.
 *
 * <p>An implementation always returns the same time for the same arguments and is safe for use from any thread. Only
 * the order and the ratios of its times matter. It is called some hundred times for each kind of call, with schedules
 * of up to some ten thousand steps, and should take no more than about a microsecond per step.
 */
public interface CostModel {
    /**
     * Returns how long a schedule takes alone.
     *
     * @param schedule any schedule over all devices of the machine
     * @param links the paths of pairs of ranks that don't go the {@linkplain dev.banyan.trees.network.Detours usual
     *     way}, by the nodes of {@link dev.banyan.trees.network.Network#ofAllLinks all links} of the machine
     * @return time in us, above 0 and finite
     */
    double predictedUs(Schedule schedule, List<LogicalLink> links);

    /**
     * Returns whether the length of chunks could change the time of a schedule; not if what executes it cuts data by
     * itself.
     *
     * @param schedule as for {@link #predictedUs}
     * @param links as for {@link #predictedUs}
     */
    default boolean dependsOnChunks(Schedule schedule, List<LogicalLink> links) {
        return true;
    }

    /**
     * Returns a lower bound of the time per byte of any schedule over certain trees, so that trees that cannot be the
     * fastest need not be tried and no time that is extrapolated from shorter calls is below it.
     *
     * @param cost the trees and how they load the links
     * @param sample a long schedule over them
     * @return time in us for each byte of all data, as nccl-tests count them, at least 0
     */
    double leastUsPerByte(ForestCost cost, Schedule sample);

    /** Makes cost models. The first provider that {@link java.util.ServiceLoader} finds is taken. */
    interface Provider {
        /**
         * Returns the model of a machine.
         *
         * @param machine of at least two devices; rank r is device r
         * @param execution what executes schedules
         */
        CostModel on(Machine machine, Execution execution);
    }
}
