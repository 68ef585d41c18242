package dev.banyan.mpi.kvstore;

import dev.banyan.kvstore.LinkedSum;
import dev.banyan.kvstore.internal.engine.DependencyEngine;
import dev.banyan.mpi.World;
import dev.banyan.reduce.Communicator;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** The caller waits for the gradient of its process and then for the sum over all processes, one key at a time. */
final class Funnel extends ProcessLink {
    Funnel(World world, Communicator communicator, DependencyEngine engine) {
        super(world, communicator, engine);
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
                try {
                    run(sum);
                    done.complete(null);
                } catch (RuntimeException | Error e) {
                    done.completeExceptionally(e);
                }
            }
        });
    }
}
