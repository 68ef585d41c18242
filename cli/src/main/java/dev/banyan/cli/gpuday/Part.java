package dev.banyan.cli.gpuday;

import java.time.Duration;
import java.util.function.BiFunction;

/**
 * One part of the day.
 *
 * @param name of its files
 * @param what it measures, in words
 * @param share its share of the time that is left, relative to the other parts'
 * @param planner plans it by what is known of the machine, and by its deadline
 */
record Part(String name, String what, int share, BiFunction<KnownGpus, Duration, Plan> planner) {}
