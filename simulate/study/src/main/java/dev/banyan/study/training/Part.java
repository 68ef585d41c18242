package dev.banyan.study.training;

import dev.banyan.schedule.internal.algorithm.CollectiveAlgorithm;

/**
 * A part of a key that is an allreduce of its own.
 *
 * @param algorithm what carries it
 * @param elements how much it is
 * @param queueUs what the caller's thread does for it before it can begin, in us
 */
record Part(CollectiveAlgorithm algorithm, long elements, double queueUs) {}
