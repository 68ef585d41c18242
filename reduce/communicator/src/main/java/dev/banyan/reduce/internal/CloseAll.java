package dev.banyan.reduce.internal;

import org.jspecify.annotations.Nullable;

/**
 * Closes several resources, each even if one before has failed to close. Not safe for use from several threads at once.
 */
public final class CloseAll {
    private @Nullable RuntimeException failure;

    /** Closes one resource and returns whether this close and all before have succeeded. */
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
