package dev.banyan.kvstore.engine;

/** Thrown where somebody waits for what a failed operation should have written; its cause is what that threw. */
public final class EngineException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    EngineException(Throwable cause) {
        super("an operation failed: " + cause, cause);
    }
}
