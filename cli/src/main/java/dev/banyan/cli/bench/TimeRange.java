package dev.banyan.cli.bench;

/**
 * The times that a prediction could have, as far as constants are not known.
 *
 * @param leastUs in us
 * @param mostUs in us
 */
public record TimeRange(double leastUs, double mostUs) {}
