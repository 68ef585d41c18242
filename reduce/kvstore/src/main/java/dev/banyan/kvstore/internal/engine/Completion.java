package dev.banyan.kvstore.internal.engine;

/** Ends a {@link DeferredTask}. The first call of either method counts. Safe for use from any thread. */
public interface Completion {
    /** Reports that the work has succeeded. */
    void done();

    /** Reports that the work has failed, which poisons the variables that the operation mutates. */
    void failed(Throwable cause);
}
