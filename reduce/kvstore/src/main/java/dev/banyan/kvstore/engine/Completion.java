package dev.banyan.kvstore.engine;

/** Ends a {@link DeferredTask}. One call of one method; safe from any thread. */
public interface Completion {
    /** The work is done. */
    void done();

    /** The work failed: the variables that the operation mutates are poisoned. */
    void failed(Throwable cause);
}
