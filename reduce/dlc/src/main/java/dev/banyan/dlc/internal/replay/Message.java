package dev.banyan.dlc.internal.replay;

import dev.banyan.dlc.internal.format.DlcMessage;
import dev.banyan.dlc.internal.format.DlcOperation;
import dev.banyan.dlc.internal.format.DlcRole;
import dev.banyan.dlc.internal.run.Exchange;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A message of a run, recorded by its sender, its receiver or both; and when it can be sent. */
final class Message {
    /** The identity of a message: which of the four, of which key, between which nodes. */
    record Id(Exchange exchange, int message) implements Comparable<Id> {
        private static final Comparator<Id> ORDER =
                Comparator.comparing(Id::exchange).thenComparingInt(Id::message);

        static Id of(DlcMessage record) {
            return new Id(Exchange.of(record), record.operation().message());
        }

        @Override
        public int compareTo(Id other) {
            return ORDER.compare(this, other);
        }
    }

    final Id id;
    private @Nullable DlcMessage sent;
    private @Nullable DlcMessage received;

    final Set<Message> after = new LinkedHashSet<>();
    double delayUs;
    double startUs;
    /** Its place in the simulation. */
    int job;

    Message(Id id) {
        this.id = id;
    }

    void add(DlcMessage record) {
        if (bySender(record)) {
            sent = record;
        } else {
            received = record;
        }
    }

    static boolean bySender(DlcMessage record) {
        return record.operation().toServer() == (record.operation().role() == DlcRole.WORKER);
    }

    /** Returns its sender's record. */
    @Nullable
    DlcMessage sent() {
        return sent;
    }

    /** Returns its receiver's record. */
    @Nullable
    DlcMessage received() {
        return received;
    }

    /** Returns the record of either. */
    DlcMessage any() {
        if (sent != null) {
            return sent;
        }
        if (received != null) {
            return received;
        }
        throw new IllegalStateException("nobody recorded " + id);
    }

    boolean isPull() {
        return id.message == DlcOperation.PULL_RECV_WORKER.message();
    }
}
