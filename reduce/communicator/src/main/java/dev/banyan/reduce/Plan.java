package dev.banyan.reduce;

import dev.banyan.reduce.backend.Executable;
import dev.banyan.schedule.plan.AlgorithmConfig;

/**
 * A call's schedule, ready to run.
 *
 * @param choice the algorithm
 * @param executable runs the schedule
 */
record Plan(AlgorithmConfig choice, Executable executable) {}
