package dev.banyan.reduce.backend;

/**
 * A collective did not end in the time that it was given. The contents of its output buffers (in place:
 * of all its buffers) are undefined, and what ran it is no longer fit for use; close it.
 */
public final class CollectiveTimeoutException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public CollectiveTimeoutException(String message) {
        super(message);
    }
}
