package dev.banyan.mpi.kvstore;

import dev.banyan.kvstore.KeyInfo;
import dev.banyan.kvstore.LinkedSum;
import dev.banyan.kvstore.StoreLink;
import dev.banyan.kvstore.engine.DependencyEngine;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** The caller waits for each gradient, and then for the sum of all processes, before it goes on. */
final class Funnel implements StoreLink {
    private final KeySums sums;
    private final DependencyEngine engine;

    Funnel(KeySums sums, DependencyEngine engine) {
        this.sums = sums;
        this.engine = engine;
    }

    @Override
    public boolean waitsForPull() {
        return false;
    }

    @Override
    public void first(KeyInfo key, MemorySegment value) {
        sums.first(key, value);
    }

    @Override
    public void push(LinkedSum sum) {
        CompletableFuture<Void> ready = new CompletableFuture<>();
        CompletableFuture<Void> done = new CompletableFuture<>();
        engine.pushDeferred(
                sum.task(
                        () -> {
                            ready.complete(null);
                            return done;
                        },
                        () -> ready.cancel(false)),
                List.of(),
                List.of(sum.variable()));
        sum.leaveToCaller(() -> {
            if (ready.handle((begun, skipped) -> skipped == null).join()) {
                carryOut(sum, done);
            }
        });
    }

    private void carryOut(LinkedSum sum, CompletableFuture<Void> done) {
        try {
            sums.run(sum);
            done.complete(null);
        } catch (RuntimeException | Error e) {
            done.completeExceptionally(e);
        }
    }

    @Override
    public void close() {
        sums.close();
    }
}
