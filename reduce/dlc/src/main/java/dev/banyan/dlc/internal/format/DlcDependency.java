package dev.banyan.dlc.internal.format;

import java.util.Objects;
import java.util.OptionalInt;

/**
 * An operation that another one waited for, or one operation of every key, as in {@code (3-s0.)}.
 *
 * @param key index of the parameter, or empty for all keys
 * @param number number of the operation
 * @param peerRole what the other node of the operation is
 * @param peer index of the other node among those of its role, from 0
 */
public record DlcDependency(OptionalInt key, int number, DlcRole peerRole, int peer) {
    public DlcDependency {
        Objects.requireNonNull(key, "key");
        Objects.requireNonNull(peerRole, "peerRole");
    }

    /** One operation. */
    public static DlcDependency on(DlcOperationId operation) {
        return new DlcDependency(
                OptionalInt.of(operation.key()), operation.number(), operation.peerRole(), operation.peer());
    }

    /** The same operation of all keys. */
    public static DlcDependency onAllKeys(int number, DlcRole peerRole, int peer) {
        return new DlcDependency(OptionalInt.empty(), number, peerRole, peer);
    }

    /** Returns whether an operation of the same trace is meant. */
    public boolean matches(DlcOperationId operation) {
        return (key.isEmpty() || key.getAsInt() == operation.key())
                && number == operation.number()
                && peerRole == operation.peerRole()
                && peer == operation.peer();
    }

    @Override
    public String toString() {
        String one = number + "-" + peerRole.letter() + peer;
        return key.isPresent() ? key.getAsInt() + "-" + one : one;
    }
}
