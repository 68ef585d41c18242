package dev.banyan.dlc.internal.format;

import java.util.stream.Stream;

/** Why an operation could not begin before. */
public enum DlcDependencyType {
    /** It waited for nothing. */
    INDEPENDENT(0),
    /** A push waited for a push: an acknowledgement for the gradient. */
    PUSH_ON_PUSH(1),
    /** A pull waited for a push: a request for the acknowledgement. */
    PULL_ON_PUSH(2),
    /** A pull waited for a pull: a value for the request. */
    PULL_ON_PULL(3),
    /** A push waited for pulls: a gradient for the values that it was computed from. */
    PUSH_ON_PULL(4);

    private final int number;

    DlcDependencyType(int number) {
        this.number = number;
    }

    /** Number that files have for it, 0..4. */
    public int number() {
        return number;
    }

    /** The type of a number. */
    public static DlcDependencyType of(long number) {
        return Stream.of(values())
                .filter(type -> type.number == number)
                .findFirst()
                .orElseThrow();
    }
}
