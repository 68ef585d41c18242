package dev.banyan.reduce.backend;

import dev.banyan.BanyanException;

/** Thrown by calls that {@code Communicator.abort} ended. The contents of their output buffers are undefined. */
public final class CollectiveAbortedException extends BanyanException {
    private static final long serialVersionUID = 1L;

    public CollectiveAbortedException(String message) {
        super(message);
    }
}
