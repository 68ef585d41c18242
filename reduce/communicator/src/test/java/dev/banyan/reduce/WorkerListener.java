package dev.banyan.reduce;

import dev.banyan.reduce.backend.StepListener;
import java.util.function.Consumer;

/** Hears which thread has done a step. */
record WorkerListener(Consumer<Thread> worker) implements StepListener {
    @Override
    public void moved(Move move) {
        worker.accept(Thread.currentThread());
    }

    @Override
    public void computed(Computation computation) {
        worker.accept(Thread.currentThread());
    }
}
