package dev.banyan.dlc.internal.format;

import java.util.Objects;

/**
 * Names an operation within a node's trace, as in {@code 6-4-s0}: the fifth operation of key 6 with server 0.
 * The four operations of an iteration have consecutive numbers. Workers count from 0; servers from -2 for the
 * gradient that initialises a key, so that the numbers of all workers at a server run alike after it.
 *
 * @param key index of the parameter, at least 0
 * @param number number of the operation among those of its key and peer, at least -2
 * @param peerRole what the other node is
 * @param peer index of the other node among those of its role, from 0
 */
public record DlcOperationId(int key, int number, DlcRole peerRole, int peer) {
    /** Number of a server's first operation, if that initialises a key. */
    public static final int FIRST_OF_SERVER = -2;

    /**
     * @throws IllegalArgumentException if a number is too low
     */
    public DlcOperationId {
        Objects.requireNonNull(peerRole, "peerRole");
        if (key < 0 || number < FIRST_OF_SERVER || peer < 0) {
            throw new IllegalArgumentException("operation " + key + "-" + number + "-" + peerRole.letter() + peer
                    + "; keys and nodes count from 0, operations from 0, or -2 at servers");
        }
    }

    @Override
    public String toString() {
        return key + "-" + number + "-" + peerRole.letter() + peer;
    }
}
