package dev.banyan.kvstore;

/**
 * An operation of a store failed while it ran; the message names operation and key, and the cause is what it failed
 * with.
 */
public final class KVStoreException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    KVStoreException(String message, Throwable cause) {
        super(message, cause);
    }

    /** What happened, in words; some exceptions have none. */
    static String what(Throwable cause) {
        String message = cause.getMessage();
        return message == null ? cause.toString() : message;
    }
}
