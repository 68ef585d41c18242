package dev.banyan.mpi;

/**
 * The processes were about to run different collectives. The message names both; every process gets the same one, and
 * nothing was sent.
 */
public final class OrderException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    OrderException(String message) {
        super(message);
    }
}
