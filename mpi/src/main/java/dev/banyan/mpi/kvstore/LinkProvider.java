package dev.banyan.mpi.kvstore;

import dev.banyan.kvstore.StoreLink;
import dev.banyan.kvstore.StoreType;
import dev.banyan.kvstore.internal.engine.DependencyEngine;
import dev.banyan.mpi.World;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.Algorithms;

/**
 * The types of stores that span all processes of the {@link World}, which the first of them opens:
 *
 * <ul>
 *   <li>{@code funnel}: the caller waits for the sum of its own process and then for the sum of all, one key at a time;
 *   <li>{@code concum}: the hash of a key chooses one of several groups of processes; at most BANYAN_OUTSTANDING sums
 *       are in flight at once, and a barrier follows each such set;
 *   <li>{@code depcha}: a push only sums inside the process. The pull lets the engine run the rest, chained by one
 *       variable, so that all processes run their collectives in the order of the calls while everything else overlaps.
 * </ul>
 *
 * <p>All types give the same bits; with BANYAN_REPRODUCIBLE=1, which takes one device in each process, those of
 * reproducible sums. All processes open stores of the same types in the same order.
 *
 * <p>Source: A. R. Mamidala, "Efficient embedding of MPI collectives in MXNET DAGs for scaling deep learning", 2018,
 * <a href="https://arxiv.org/abs/1802.06949">arXiv:1802.06949</a>.
 */
public final class LinkProvider implements StoreLink.Provider {
    @Override
    public StoreLink create(StoreType type, Communicator communicator, DependencyEngine engine) {
        if (communicator.config().get(Algorithms.REPRODUCIBLE) && communicator.size() > 1) {
            throw new IllegalArgumentException(
                    "a store of type " + type.label() + " rounds the sum of the " + communicator.size()
                            + " devices of a process before it sums over processes, which BANYAN_REPRODUCIBLE=1"
                            + " must not; start a process for each device, or use HierarchicalCommunicator");
        }
        World world = World.open(communicator.config());
        world.all().agree("opens a store of type " + type.label());
        return switch (type) {
            case FUNNEL -> new Funnel(world, communicator, engine);
            case CONCUM -> new Concum(world, communicator, engine);
            case DEPCHA -> new Depcha(world, communicator, engine);
            case DEVICE, TREE, RING, AUTO -> throw new IllegalArgumentException(type + " stays in one process");
        };
    }
}
