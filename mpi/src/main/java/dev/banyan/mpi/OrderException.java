package dev.banyan.mpi;

import dev.banyan.BanyanException;

/**
 * Thrown if the processes were about to run different collectives. The message names both and is the same on every
 * process. No data was sent.
 */
public final class OrderException extends BanyanException {
    private static final long serialVersionUID = 1L;

    OrderException(String message) {
        super(message);
    }
}
