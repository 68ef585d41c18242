package dev.banyan.mpi.kvstore;

import dev.banyan.kvstore.KeyInfo;
import dev.banyan.kvstore.LinkedSum;
import dev.banyan.kvstore.StoreLink;
import dev.banyan.kvstore.engine.DependencyEngine;
import dev.banyan.kvstore.engine.Variable;
import java.lang.foreign.MemorySegment;

/**
 * The engine carries all sums out, in the order in which they were pushed: each mutates one variable that stands for
 * nothing.
 */
final class Depcha implements StoreLink {
    private final KeySums sums;
    private final DependencyEngine engine;
    private final Variable chain;

    Depcha(KeySums sums, DependencyEngine engine) {
        this.sums = sums;
        this.engine = engine;
        chain = engine.variable();
    }

    @Override
    public boolean waitsForPull() {
        return true;
    }

    @Override
    public void first(KeyInfo key, MemorySegment value) {
        sums.first(key, value);
    }

    @Override
    public void push(LinkedSum sum) {
        sums.push(engine, sum, sums.group(), chain);
    }

    @Override
    public void close() {
        sums.close();
    }
}
