package dev.banyan.reduce;

import dev.banyan.reduce.backend.Executable;
import dev.banyan.schedule.plan.AlgorithmConfig;

/**
 * A call's schedule, ready to run.
 *
 * @param choice how it was chosen to be carried out
 * @param executable carries it out
 */
record Plan(AlgorithmConfig choice, Executable executable) {}
