package dev.banyan.dlc;

import dev.banyan.dlc.internal.format.DlcDependency;
import dev.banyan.dlc.internal.format.DlcHeader;
import dev.banyan.dlc.internal.format.DlcMessage;
import dev.banyan.dlc.internal.format.DlcRecord;
import dev.banyan.dlc.internal.format.DlcSetup;
import java.io.IOException;
import java.io.Writer;
import java.util.List;
import java.util.stream.Collectors;

/** Writes traces as {@code DlcReader} reads them, column for column as the published ones are. */
final class DlcWriter {
    static final String COLUMNS = String.join(
            "\t",
            "id",
            "src",
            "dst",
            "length",
            "num_pp",
            "operation",
            "op_id",
            "dep_type",
            "d_time",
            "time_sec",
            "time_usec",
            "id_dep");

    private static final String SETUP_TAIL = "\t".repeat(6);
    private static final String CONVENTIONS = """
        == num_pp:=
        -15: Initialize Server
        0: setup messages
        odd (even): push_operation
        even (odd): pull_operation
        == push operation:
        push_send_worker -> push_recv_worker
        push_recv_server -> push_send_server
        == pull operation:
        pull_send_worker -> pull_recv_worker
        pull_recv_server -> pull_send_server
        == op_id: (key-operation_num-role)
        key: the index of parameters
        role: (worker or server)
        operation_num: the num of push or pull, every four num means an iteration
        (push_send, push_recv, pull_send, pull_recv)
        """;

    private DlcWriter() {}

    /**
     * Writes a trace; the writer stays open.
     *
     * @throws IOException if that fails
     */
    static void write(DlcTrace trace, Writer writer) throws IOException {
        DlcHeader header = trace.header();
        writer.write("== num_workers:= " + header.workers().size() + "\n");
        writer.write("num_servers:= " + header.servers().size() + "\n");
        writer.write(header.role().label() + "_hostname:= " + header.hostname() + "\n");
        writer.write("Worker_ID:= " + ids(header.workers()) + " Server_ID:= " + ids(header.servers()) + "\n");
        writer.write(CONVENTIONS);
        writer.write(COLUMNS + "\n");
        for (DlcRecord record : trace.records()) {
            writer.write(line(record));
            writer.write('\n');
        }
    }

    private static String ids(List<Integer> nodes) {
        return nodes.stream().map(node -> node + ",").collect(Collectors.joining());
    }

    private static String line(DlcRecord record) {
        String start = record.id() + "\t" + record.src() + "\t" + record.dst() + "\t" + record.length() + "\t";
        return switch (record) {
            case DlcSetup setup ->
                start + DlcSetup.NUMBER + "\t" + DlcRecord.OPERATION + " " + setup.command() + SETUP_TAIL;
            case DlcMessage message ->
                start + message.number() + "\t" + DlcRecord.OPERATION + " "
                        + message.operation().label() + "\t"
                        + message.operationId() + "\t"
                        + message.dependencyType().number() + "\t"
                        + message.delayUs() + "\t" + message.timeUs() / DlcRecord.US_PER_SECOND + "\t"
                        + message.timeUs() % DlcRecord.US_PER_SECOND + "\t" + dependencies(message.dependencies());
        };
    }

    /** One operation stands alone; several, or one of all keys, in brackets, each with the mark that ends it. */
    private static String dependencies(List<DlcDependency> dependencies) {
        if (dependencies.isEmpty()) {
            return DlcRecord.NOTHING;
        }
        if (dependencies.size() == 1 && dependencies.getFirst().key().isPresent()) {
            return dependencies.getFirst().toString();
        }
        return dependencies.stream()
                .map(dependency -> dependency + (dependency.key().isPresent() ? "," : "."))
                .collect(Collectors.joining("", "(", ")"));
    }
}
