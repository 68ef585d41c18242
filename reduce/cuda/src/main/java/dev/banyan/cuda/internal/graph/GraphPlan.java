package dev.banyan.cuda.internal.graph;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.HostBlock;
import java.util.List;
import java.util.Map;

/**
 * The parts from which the graphs of one schedule are made.
 *
 * @param name of the collective and the algorithm, for messages
 * @param devices the device of each rank
 * @param layout where slots lie in the blocks
 * @param blocks address of each device's block
 * @param hostBlock address of the host's block
 * @param ring places of each slot
 * @param marks report to the host how far a run has come
 * @param markBlock a 32-bit word of each mark
 */
record GraphPlan(
        String name,
        List<Route> routes,
        List<CudaDevice> devices,
        int elementBytes,
        Layout layout,
        Map<CudaDevice, Long> blocks,
        long hostBlock,
        int ring,
        List<Mark> marks,
        HostBlock markBlock) {}
