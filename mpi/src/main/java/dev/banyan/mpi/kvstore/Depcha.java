package dev.banyan.mpi.kvstore;

import dev.banyan.kvstore.LinkedSum;
import dev.banyan.kvstore.internal.engine.DependencyEngine;
import dev.banyan.kvstore.internal.engine.Variable;
import dev.banyan.mpi.World;
import dev.banyan.reduce.Communicator;

/**
 * The engine runs all sums in the order in which they were pushed, as each mutates one variable that stands for no
 * data.
 */
final class Depcha extends ProcessLink {
    private final Variable chain;

    Depcha(World world, Communicator communicator, DependencyEngine engine) {
        super(world, communicator, engine);
        chain = engine.variable();
    }

    @Override
    public boolean waitsForPull() {
        return true;
    }

    @Override
    public void push(LinkedSum sum) {
        push(sum, group, chain);
    }
}
