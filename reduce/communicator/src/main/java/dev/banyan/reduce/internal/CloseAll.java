package dev.banyan.reduce.internal;

import org.jspecify.annotations.Nullable;

/** Closes several things, each whatever happened to those before. Not safe for use from several threads at once. */
public final class CloseAll {
    private @Nullable RuntimeException failure;

    /** Closes one thing and returns whether that and all before succeeded. */
    public boolean close(Runnable closing) {
        try {
            closing.run();
        } catch (RuntimeException e) {
            if (failure == null) {
                failure = e;
            } else {
                failure.addSuppressed(e);
            }
        }
        return failure == null;
    }

    /** Throws the first failure, with the others suppressed. */
    public void throwFailure() {
        if (failure != null) {
            throw failure;
        }
    }
}
