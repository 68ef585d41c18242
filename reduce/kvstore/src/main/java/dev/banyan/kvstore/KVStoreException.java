package dev.banyan.kvstore;

import dev.banyan.BanyanException;

/**
 * Thrown if an operation of a store failed while it ran. The message names the operation and the key; the cause is the
 * failure.
 */
public final class KVStoreException extends BanyanException {
    private static final long serialVersionUID = 1L;

    KVStoreException(String message, Throwable cause) {
        super(message, cause);
    }

    /** Returns an exception's message, or its name if it has none. */
    static String what(Throwable cause) {
        String message = cause.getMessage();
        return message == null ? cause.toString() : message;
    }
}
