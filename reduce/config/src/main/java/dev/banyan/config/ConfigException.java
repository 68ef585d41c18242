package dev.banyan.config;

import dev.banyan.BanyanException;

/** Thrown for a setting that cannot be used. The message names it, where it came from, its value and what is allowed.
 * */
public final class ConfigException extends BanyanException {
    private static final long serialVersionUID = 1L;

    ConfigException(String message) {
        super(message);
    }

    ConfigException(String message, Throwable cause) {
        super(message, cause);
    }
}
