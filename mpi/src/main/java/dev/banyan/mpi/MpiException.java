package dev.banyan.mpi;

import dev.banyan.BanyanException;

/**
 * Thrown if MPI cannot be used or a call of it failed. The message is one sentence: what failed, why, and what to do.
 * After a failed collective the other processes may wait for this one until their deadline.
 */
public final class MpiException extends BanyanException {
    private static final long serialVersionUID = 1L;

    MpiException(String message) {
        super(message);
    }

    MpiException(String message, Throwable cause) {
        super(message, cause);
    }
}
