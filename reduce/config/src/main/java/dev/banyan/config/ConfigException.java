package dev.banyan.config;

/** Thrown for a setting that cannot be used. The message names it, where it came from, its value and what is allowed.
 * */
public final class ConfigException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    ConfigException(String message) {
        super(message);
    }

    ConfigException(String message, Throwable cause) {
        super(message, cause);
    }
}
