package dev.banyan.reduce.backend;

import dev.banyan.BanyanException;

/**
 * Thrown if a collective does not end within its timeout. The contents of its output buffers (in place: of all its
 * buffers) are undefined, and the communicator or backend that ran it cannot be used any more; close it.
 */
public final class CollectiveTimeoutException extends BanyanException {
    private static final long serialVersionUID = 1L;

    public CollectiveTimeoutException(String message) {
        super(message);
    }
}
