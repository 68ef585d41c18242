package dev.banyan.simulate;

/** Thrown for a profile that cannot be used; the message names the file, the place in it, and the remedy. */
public final class ProfileException extends RuntimeException {
    private static final long serialVersionUID = 1;

    ProfileException(String source, String problem) {
        super(source + ": " + problem);
    }
}
