package dev.banyan.reduce;

import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** A backend whose runs end when the test says so. */
final class FakeDevices extends FakeBackend {
    /** One per start, in that order. */
    final List<CompletableFuture<Void>> runs = new CopyOnWriteArrayList<>();

    /** True for each start that got streams of the caller, in the order of starts. */
    final List<Boolean> joins = new CopyOnWriteArrayList<>();

    private volatile Runnable onPrepare = () -> {};

    /** Streams that are nothing. */
    static CallerStreams streams() {
        return () -> 4;
    }

    synchronized void awaitStarts(int number) {
        try {
            while (runs.size() < number) {
                wait();
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    void whenPreparing(Runnable action) {
        onPrepare = action;
    }

    @Override
    public Executable prepare(Schedule schedule, DataType type, ReduceOp op) {
        onPrepare.run();
        return new Executable() {
            @Override
            public void run(MemorySegment[] inputs, MemorySegment[] outputs) {
                throw new UnsupportedOperationException("calls are started");
            }

            @Override
            public void start(
                    MemorySegment[] inputs,
                    MemorySegment[] outputs,
                    @Nullable CallerStreams streams,
                    Completion completion) {
                CompletableFuture<Void> run = new CompletableFuture<>();
                var _ = run.whenComplete((_, failure) -> completion.ended(failure));
                synchronized (FakeDevices.this) {
                    runs.add(run);
                    joins.add(streams != null);
                    FakeDevices.this.notifyAll();
                }
            }

            @Override
            public void close() {}
        };
    }
}
