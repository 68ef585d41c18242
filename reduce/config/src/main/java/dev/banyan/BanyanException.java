package dev.banyan;

import org.jspecify.annotations.Nullable;

/**
 * Thrown if something outside the program fails or does not fit: a file, a driver, another process, a late call. The
 * message is one sentence that names the place and the remedy. Wrong arguments of a method are an
 * IllegalArgumentException, and calls in a wrong state an IllegalStateException.
 */
public abstract class BanyanException extends RuntimeException {
    private static final long serialVersionUID = 1;

    protected BanyanException(String message) {
        super(message);
    }

    protected BanyanException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
