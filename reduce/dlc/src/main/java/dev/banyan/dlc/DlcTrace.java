package dev.banyan.dlc;

import dev.banyan.dlc.internal.format.DlcHeader;
import dev.banyan.dlc.internal.format.DlcMessage;
import dev.banyan.dlc.internal.format.DlcRecord;
import dev.banyan.dlc.internal.format.DlcRole;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * One node's record of a run: every push and pull that it sent or received, when, and what each waited for. The format
 * is that of SketchDLC, a tracer for MXNet (Y. Xu, D. Dong et al., "SketchDLC: a sketch on distributed deep learning
 * communication via trace capturing", ACM Trans. Archit. Code Optim. 16, 2019).
 *
 * @param header who took part
 * @param records in the order of the file
 */
public record DlcTrace(DlcHeader header, List<DlcRecord> records) {
    public DlcTrace {
        Objects.requireNonNull(header, "header");
        records = List.copyOf(records);
    }

    /** Number of records. */
    public int size() {
        return records.size();
    }

    /** The node that recorded the trace, e.g. {@code worker 0}; empty if it sent and received nothing. */
    public Optional<String> recorder() {
        return messages().findFirst().map(message -> {
            DlcRole role = message.operation().role();
            return role.label() + " " + (role == DlcRole.WORKER ? message.worker() : message.server());
        });
    }

    /** The records of pushes and pulls. */
    public Stream<DlcMessage> messages() {
        return records.stream().filter(DlcMessage.class::isInstance).map(DlcMessage.class::cast);
    }
}
