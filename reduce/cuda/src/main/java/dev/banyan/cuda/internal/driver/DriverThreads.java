package dev.banyan.cuda.internal.driver;

import java.util.concurrent.Executor;

/** Threads for calls of the driver that may block for ever: each call has a daemon thread of its own. */
public final class DriverThreads {
    /** Runs a task on a new thread, which disturbs no capture of a graph. */
    public static final Executor NEW =
            task -> Thread.ofPlatform().daemon().name("banyan-cuda-call").start(() -> {
                CaptureMode.relaxThread();
                task.run();
            });

    /** Runs the watcher of a backend's runs on a new thread. */
    public static final Executor WATCHER =
            task -> Thread.ofPlatform().daemon().name("banyan-cuda-watcher").start(task);

    private DriverThreads() {}
}
