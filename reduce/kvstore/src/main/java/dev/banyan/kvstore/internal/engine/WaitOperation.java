package dev.banyan.kvstore.internal.engine;

import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/**
 * Lets a thread wait for a variable. It mutates the variable, so that the reads before it have ended, too. If the
 * variable is poisoned, it is not skipped but heals the variable.
 */
final class WaitOperation extends Operation {
    private final DependencyEngine engine;
    private final Variable variable;
    private final CountDownLatch reached = new CountDownLatch(1);
    private @Nullable Throwable poison;

    WaitOperation(DependencyEngine engine, Variable variable) {
        super(Named.of(variable), 0);
        this.engine = engine;
        this.variable = variable;
    }

    @Override
    @Nullable
    WorkerThreads threads() {
        return null;
    }

    @Override
    public void run() {
        poison = engine.heal(variable);
        engine.end(this, null);
        reached.countDown();
    }

    /** Waits until the operation has run, and returns the failure that had poisoned the variable, or null. */
    @Nullable
    Throwable await() {
        boolean interrupted = false;
        while (true) {
            try {
                reached.await();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return poison;
    }
}
