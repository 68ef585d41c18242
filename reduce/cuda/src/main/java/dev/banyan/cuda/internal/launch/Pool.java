package dev.banyan.cuda.internal.launch;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Supplier;

/** Objects that are used again. Safe for use from any thread. */
public final class Pool<T> {
    private final Supplier<T> making;
    private final Deque<T> spare = new ArrayDeque<>();

    /** @param making makes an object where none is spare; called by the thread that takes it */
    public Pool(Supplier<T> making) {
        this.making = making;
    }

    public T take() {
        T given;
        synchronized (this) {
            given = spare.poll();
        }
        return given == null ? making.get() : given;
    }

    public synchronized void give(T unused) {
        spare.push(unused);
    }
}
