package dev.banyan.kvstore;

import java.util.Objects;

/**
 * The name of one array of a store. A store's keys are all integers or all strings.
 *
 * @param name the string, or the integer in decimal
 * @param integer whether it was given as an integer
 */
public record Key(String name, boolean integer) {
    public Key {
        Objects.requireNonNull(name, "name");
        if (integer && !isInteger(name)) {
            throw new IllegalArgumentException(
                    "a key \"" + name + "\" that is to be an integer; make it by Key.of of a number");
        }
    }

    private static boolean isInteger(String name) {
        try {
            return Integer.toString(Integer.parseInt(name)).equals(name);
        } catch (NumberFormatException e) {
            return false;
        }
    }

    /**
     * Returns an integer as a key.
     *
     * @param number any integer
     */
    public static Key of(int number) {
        return new Key(Integer.toString(number), true);
    }

    /**
     * Returns a string as a key.
     *
     * @param name any string
     */
    public static Key of(String name) {
        return new Key(name, false);
    }

    /** Returns the name. */
    @Override
    public String toString() {
        return name;
    }
}
