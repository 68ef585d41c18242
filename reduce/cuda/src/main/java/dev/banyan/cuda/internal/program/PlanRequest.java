package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.schedule.Schedule;

/**
 * A schedule for which a plan is made.
 *
 * @param elementBytes bytes of an element
 * @param mean whether the result is divided by the number of ranks
 * @param kernel interprets the plan's tables
 */
record PlanRequest(Schedule schedule, int elementBytes, boolean mean, Kernel.Program kernel) {
    /**
     * Returns a text of all that the plan depends on, which is the same in all processes.
     *
     * @param mostBlocks the number of blocks of a rank that run at once
     */
    String kind(int mostBlocks) {
        return schedule.collective().label() + " by " + schedule.algorithm() + " of " + schedule.count() + " x "
                + elementBytes + " bytes, " + kernel.name() + (mean ? ", mean" : "") + ", root " + schedule.root()
                + (schedule.inPlace() ? ", in place" : "") + ", " + mostBlocks + " blocks";
    }
}
