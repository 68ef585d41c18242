package dev.banyan.cuda.internal.driver;

/**
 * The driver's report on the path from one GPU to another.
 *
 * @param access whether the one may touch the other's memory
 * @param rank the driver's rank of the path: 0 is the best, higher is worse; without meaning where there is no access
 */
public record PeerLink(boolean access, int rank) {}
