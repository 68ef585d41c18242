package dev.banyan.dlc.internal.format;

import java.util.List;
import java.util.Objects;

/**
 * A message of a push or a pull, as one of its two nodes saw it.
 *
 * @param id number of the record
 * @param src node that sent it
 * @param dst node that received it
 * @param length length in bytes, with what its transport adds
 * @param number column num_pp: {@link #INITIALISES} for a push that initialises a key, else the number of the
 *     push or pull that the message belongs to, odd for the one and even for the other
 * @param operation what was done
 * @param operationId its name
 * @param dependencyType why it could not begin before
 * @param delayUs column d_time: time from the operation that it waited for until this one, in us; 0 if it waited
 *     for none, negative where a clock was put back
 * @param timeUs when it was done, in us since 1970; at least 0
 * @param dependencies what it waited for, in the same trace; empty if for nothing
 */
public record DlcMessage(
        int id,
        int src,
        int dst,
        long length,
        int number,
        DlcOperation operation,
        DlcOperationId operationId,
        DlcDependencyType dependencyType,
        long delayUs,
        long timeUs,
        List<DlcDependency> dependencies)
        implements DlcRecord {
    /** The number of pushes that initialise a key. */
    public static final int INITIALISES = -15;

    /**
     * @throws IllegalArgumentException if a number is negative that can't be, or the operation's name says
     *     another peer than its role has
     */
    public DlcMessage {
        Objects.requireNonNull(operation, "operation");
        Objects.requireNonNull(operationId, "operationId");
        Objects.requireNonNull(dependencyType, "dependencyType");
        dependencies = List.copyOf(dependencies);
        if (id < 0 || src < 0 || dst < 0 || length < 0 || timeUs < 0) {
            throw new IllegalArgumentException("record " + id + " from " + src + " to " + dst + " of " + length
                    + " bytes at " + timeUs + " us; none of them may be negative");
        }
        if (operationId.peerRole() == operation.role()) {
            throw new IllegalArgumentException(operation.label() + " " + operationId + "; a "
                    + operation.role().label() + " talks to a "
                    + operation.role().other().label());
        }
    }

    /** Index of the parameter. */
    public int key() {
        return operationId.key();
    }

    /** The node that works. */
    public int worker() {
        return operation.toServer() ? src : dst;
    }

    /** The node that serves. */
    public int server() {
        return operation.toServer() ? dst : src;
    }

    /** Returns whether it is part of the push that initialises a key. */
    public boolean initialises() {
        return number == INITIALISES;
    }

    /**
     * The iteration that it belongs to: 0 for the first four operations, which initialise a key where the trace
     * begins with that. Workers that only pull a new key, and servers, count so that the pull ends the iteration.
     */
    public int iteration() {
        return Math.ceilDiv(operationId.number() - operation.message(), DlcOperation.MESSAGES);
    }
}
