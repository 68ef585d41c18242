package dev.banyan.dlc.internal.read;

import dev.banyan.InputException;
import dev.banyan.dlc.DlcTrace;
import dev.banyan.dlc.internal.format.DlcHeader;
import dev.banyan.dlc.internal.format.DlcMessage;
import dev.banyan.dlc.internal.format.DlcRecord;
import dev.banyan.dlc.internal.format.DlcRole;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Finds what the lines before the records say; the conventions among them are the same in all files. */
final class DlcHeaderParser {
    private static final int MOST_NODES = 1 << 16;
    private static final Pattern FIELD = Pattern.compile(
            "(num_workers|num_servers|(?:worker|server)_hostname|worker_id|server_id)\\s*:\\s*=\\s*([^\\s,]*)",
            Pattern.CASE_INSENSITIVE);
    private static final Pattern IDS = Pattern.compile("\\G(\\d{1,9})[\\s,]*");

    private final String source;
    private int workers;
    private int servers;
    private String hostname = "unknown";
    private DlcRole role = DlcRole.WORKER;
    private List<Integer> workerIds = List.of();
    private List<Integer> serverIds = List.of();

    DlcHeaderParser(String source) {
        this.source = source;
    }

    /** Takes what one line says. */
    void take(int line, String text) {
        Matcher field = FIELD.matcher(text);
        while (field.find()) {
            String value = field.group(2);
            int column = field.start(2) + 1;
            switch (field.group(1).toLowerCase(Locale.ROOT)) {
                case "num_workers" -> workers = count(field.group(1), value, line, column);
                case "num_servers" -> servers = count(field.group(1), value, line, column);
                case "worker_hostname" -> host(DlcRole.WORKER, value);
                case "server_hostname" -> host(DlcRole.SERVER, value);
                case "worker_id" -> workerIds = ids(field, text, workers, line);
                default -> serverIds = ids(field, text, servers, line);
            }
        }
    }

    private int count(String name, String value, int line, int column) {
        if (value.matches("[1-9]\\d{0,4}") && Integer.parseInt(value) <= MOST_NODES) {
            return Integer.parseInt(value);
        }
        throw new InputException(
                source, line, column, name + " is '" + value + "'; it must be a whole number from 1 to " + MOST_NODES);
    }

    private void host(DlcRole of, String name) {
        role = of;
        hostname = name.isEmpty() ? hostname : name;
    }

    private List<Integer> ids(Matcher field, String text, int count, int line) {
        List<Integer> ids = new ArrayList<>();
        Matcher id = IDS.matcher(text).region(field.start(2), text.length());
        while (id.find()) {
            ids.add(Integer.valueOf(id.group(1)));
        }
        if (count == 0 || ids.size() != count) {
            throw new InputException(
                    source,
                    line,
                    field.start(2) + 1,
                    field.group(1) + " lists " + ids.size() + " nodes, but " + count
                            + " are announced; let both agree");
        }
        return ids;
    }

    /** Returns the nodes of the run, if the lines named them. */
    Optional<DlcHeader> header() {
        if (workers == 0 || servers == 0) {
            return Optional.empty();
        }
        List<Integer> working =
                workerIds.isEmpty() ? IntStream.range(0, workers).boxed().toList() : workerIds;
        List<Integer> serving = serverIds.isEmpty()
                ? IntStream.range(workers, workers + servers).boxed().toList()
                : serverIds;
        // Early tracers count servers from 0 here, though not in the records.
        boolean shifted = serving.stream().anyMatch(working::contains);
        return Optional.of(new DlcHeader(
                role,
                hostname,
                working,
                shifted
                        ? serving.stream()
                                .map(server -> server + working.size())
                                .toList()
                        : serving));
    }

    /** Returns the nodes of messages, for a file whose lines name none. */
    DlcHeader derived(List<DlcRecord> records) {
        List<DlcMessage> messages = new DlcTrace(DlcHeader.of(role, hostname, 0, 0), records)
                .messages()
                .toList();
        DlcRole of = messages.isEmpty() ? role : messages.getFirst().operation().role();
        return new DlcHeader(
                of,
                hostname,
                distinct(messages.stream().map(DlcMessage::worker)),
                distinct(messages.stream().map(DlcMessage::server)));
    }

    private static List<Integer> distinct(Stream<Integer> nodes) {
        return nodes.distinct().sorted().toList();
    }
}
