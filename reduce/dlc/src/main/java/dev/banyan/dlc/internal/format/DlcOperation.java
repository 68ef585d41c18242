package dev.banyan.dlc.internal.format;

import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * An entry of a node's record: it sent or received one of the four messages that a key needs per iteration. In order
 * these are the push, its acknowledgement, the request to pull, and the pulled value. The first and the third go from
 * worker to server, the others back.
 */
public enum DlcOperation {
    /** A worker sends a gradient. */
    PUSH_SEND_WORKER("Push_Send_Worker", DlcRole.WORKER, 0),
    /** A worker hears that its gradient has been taken in. */
    PUSH_RECV_WORKER("Push_Recv_Worker", DlcRole.WORKER, 1),
    /** A worker asks for a value. */
    PULL_SEND_WORKER("Pull_Send_Worker", DlcRole.WORKER, 2),
    /** A worker gets a value. */
    PULL_RECV_WORKER("Pull_Recv_Worker", DlcRole.WORKER, 3),
    /** A server gets a gradient. */
    PUSH_RECV_SERVER("Push_Recv_Server", DlcRole.SERVER, 0),
    /** A server says that it has taken in a gradient. */
    PUSH_SEND_SERVER("Push_Send_Server", DlcRole.SERVER, 1),
    /** A server is asked for a value. */
    PULL_RECV_SERVER("Pull_Recv_Server", DlcRole.SERVER, 2),
    /** A server sends a value. */
    PULL_SEND_SERVER("Pull_Send_Server", DlcRole.SERVER, 3);

    /** Messages of a key in one iteration of one worker. */
    public static final int MESSAGES = 4;

    private final String label;
    private final DlcRole role;
    private final int message;

    DlcOperation(String label, DlcRole role, int message) {
        this.label = label;
        this.role = role;
        this.message = message;
    }

    /** Name as files have it, without the {@code OP:=} before it. */
    public String label() {
        return label;
    }

    /** Returns the role of the node that recorded it. */
    public DlcRole role() {
        return role;
    }

    /** Returns the index of its message among the four, 0..3. */
    public int message() {
        return message;
    }

    /** Returns whether the message goes from worker to server. */
    public boolean toServer() {
        return message % 2 == 0;
    }

    /** The operation of a name, whatever its case. */
    public static Optional<DlcOperation> find(String name) {
        return Stream.of(values())
                .filter(operation -> operation.label.toLowerCase(Locale.ROOT).equals(name.toLowerCase(Locale.ROOT)))
                .findFirst();
    }
}
