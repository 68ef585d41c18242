package dev.banyan.kvstore.internal.engine;

import dev.banyan.BanyanException;

/** Thrown by a wait for data that a failed operation should have written. Its cause is what that operation threw. */
public final class EngineException extends BanyanException {
    private static final long serialVersionUID = 1L;

    EngineException(Throwable cause) {
        super("an operation failed: " + cause, cause);
    }
}
