package dev.banyan.cuda;

/**
 * What the driver says of the way from one GPU to another.
 *
 * @param access whether the one may touch the other's memory
 * @param rank the driver's rank of the way: 0 is the best, higher is worse; without meaning where there is no access
 */
public record PeerLink(boolean access, int rank) {}
