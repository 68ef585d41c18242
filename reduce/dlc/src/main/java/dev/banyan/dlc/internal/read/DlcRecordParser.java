package dev.banyan.dlc.internal.read;

import dev.banyan.dlc.internal.format.DlcDependency;
import dev.banyan.dlc.internal.format.DlcDependencyType;
import dev.banyan.dlc.internal.format.DlcHeader;
import dev.banyan.dlc.internal.format.DlcMessage;
import dev.banyan.dlc.internal.format.DlcOperation;
import dev.banyan.dlc.internal.format.DlcOperationId;
import dev.banyan.dlc.internal.format.DlcRecord;
import dev.banyan.dlc.internal.format.DlcRole;
import dev.banyan.dlc.internal.format.DlcSetup;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reads one record. */
final class DlcRecordParser {
    private static final Pattern OPERATION_ID = Pattern.compile("(\\d{1,9})-(-?\\d{1,9})(?:-([sw])(\\d{1,9}))?");
    private static final Pattern ALL_KEYS = Pattern.compile("(-?\\d{1,9})(?:-([sw])(\\d{1,9}))?");

    private static final Pattern LISTED = Pattern.compile("[^.,\\s]+");

    private final Optional<DlcHeader> header;

    /**
     * @param header who took part, if the file says so
     */
    DlcRecordParser(Optional<DlcHeader> header) {
        this.header = header;
    }

    DlcRecord parse(DlcLine line) {
        int id = (int) line.number("id", 0, Integer.MAX_VALUE);
        int src = node(line, "src");
        int dst = node(line, "dst");
        long length = line.number("length", 0, Long.MAX_VALUE);
        int number = (int) line.number("num_pp", Integer.MIN_VALUE, Integer.MAX_VALUE);
        String name = line.word();
        if (name.equals(DlcRecord.OPERATION)) {
            name = line.word();
        } else if (name.startsWith(DlcRecord.OPERATION)) {
            name = name.substring(DlcRecord.OPERATION.length());
        }
        Optional<DlcOperation> operation = DlcOperation.find(name);
        if (operation.isEmpty()) {
            return setup(line, id, src, dst, length, number, name);
        }
        return message(line, id, src, dst, length, number, operation.get());
    }

    private int node(DlcLine line, String column) {
        int node = (int) line.number(column, 0, Integer.MAX_VALUE);
        if (header.isPresent()) {
            int workers = header.get().workers().size();
            int servers = header.get().servers().size();
            boolean known = node <= workers + servers
                    || header.get().workers().contains(node)
                    || header.get().servers().contains(node);
            if (!known) {
                throw line.wrong(column + " is " + node + ", but " + workers + " workers, " + servers
                        + " servers and a scheduler are nodes 0.." + (workers + servers));
            }
        }
        return node;
    }

    private static DlcSetup setup(DlcLine line, int id, int src, int dst, long length, int number, String name) {
        if (number != DlcSetup.NUMBER || !name.matches("\\w+")) {
            throw line.wrong("'" + name + "' is no operation; those of num_pp " + number + " are "
                    + Stream.of(DlcOperation.values()).map(DlcOperation::label).collect(Collectors.joining(", ")));
        }
        String rest = line.rest();
        if (!rest.isEmpty()) {
            throw line.wrong("'" + rest + "' follows the setup message " + name + "; it has six columns");
        }
        return new DlcSetup(id, src, dst, length, name);
    }

    private DlcMessage message(
            DlcLine line, int id, int src, int dst, long length, int number, DlcOperation operation) {
        int peerNode = operation.toServer() == (operation.role() == DlcRole.WORKER) ? dst : src;
        int recorder = peerNode == src ? dst : src;
        DlcRole peerRole = operation.role().other();
        String word = line.word();
        if (word.isEmpty()) {
            throw line.wrong(
                    "the line ends before its op_id; a record of " + operation.label() + " has twelve columns");
        }
        int peer = header.map(known -> known.index(peerRole, peerNode)).orElse(-1);
        if (header.isPresent() && (peer < 0 || header.get().index(operation.role(), recorder) < 0)) {
            throw line.wrong(operation.label() + " from node " + src + " to node " + dst
                    + " is not between a worker and a server of the header");
        }
        DlcOperationId operationId = operationId(line, word, peerRole, peer);
        DlcDependencyType type =
                DlcDependencyType.of(line.number("dep_type", 0, DlcDependencyType.values().length - 1L));
        long delay = line.number("d_time", Long.MIN_VALUE, Long.MAX_VALUE);
        long seconds = line.number("time_sec", 0, Integer.MAX_VALUE);
        long micros = line.number("time_usec", 0, DlcRecord.US_PER_SECOND - 1);
        return new DlcMessage(
                id,
                src,
                dst,
                length,
                number,
                operation,
                operationId,
                type,
                delay,
                seconds * DlcRecord.US_PER_SECOND + micros,
                dependencies(line, operationId));
    }

    /** Early tracers left the peer away: it is then the other node of the message. */
    private static DlcOperationId operationId(DlcLine line, String word, DlcRole peerRole, int peer) {
        Matcher parts = OPERATION_ID.matcher(word);
        if (!parts.matches() || Integer.parseInt(parts.group(2)) < DlcOperationId.FIRST_OF_SERVER) {
            throw line.wrong("op_id is '" + word + "'; it must be key, number and peer, e.g. 0-4-s0");
        }
        if (parts.group(3) == null && peer < 0) {
            throw line.wrong("op_id " + word + " does not say with whom, and the file has no header that would; write "
                    + word + "-" + peerRole.letter() + " and the peer's index");
        }
        int index = parts.group(3) == null ? peer : Integer.parseInt(parts.group(4));
        if (parts.group(3) != null && (role(parts.group(3)) != peerRole || (peer >= 0 && index != peer))) {
            throw line.wrong("op_id " + word + " says another peer than src and dst do"
                    + (peer >= 0 ? ", which is " + peerRole.letter() + peer : ""));
        }
        return new DlcOperationId(Integer.parseInt(parts.group(1)), Integer.parseInt(parts.group(2)), peerRole, index);
    }

    private static DlcRole role(String letter) {
        return letter.charAt(0) == DlcRole.SERVER.letter() ? DlcRole.SERVER : DlcRole.WORKER;
    }

    private static List<DlcDependency> dependencies(DlcLine line, DlcOperationId of) {
        String text = line.rest();
        if (text.isEmpty()) {
            throw line.wrong("the line ends before its id_dep; write -1 if the operation waited for nothing");
        }
        if (text.equals(DlcRecord.NOTHING)) {
            return List.of();
        }
        boolean open = text.startsWith("(");
        if (open != text.endsWith(")")) {
            throw line.wrong("id_dep is '" + text + "', which has but one bracket");
        }
        String inner = open ? text.substring(1, text.length() - 1) : text;
        List<DlcDependency> dependencies = new ArrayList<>();
        Matcher parts = LISTED.matcher(inner);
        while (parts.find()) {
            dependencies.add(dependency(line, parts.group(), of));
        }
        if (dependencies.isEmpty()) {
            throw line.wrong("id_dep is '" + text + "', which names no operation; write -1 if there is none");
        }
        return dependencies;
    }

    private static DlcDependency dependency(DlcLine line, String part, DlcOperationId of) {
        Matcher one = OPERATION_ID.matcher(part);
        if (one.matches()) {
            OptionalInt key = OptionalInt.of(Integer.parseInt(one.group(1)));
            return dependency(key, one.group(2), one.group(3), one.group(4), of);
        }
        Matcher all = ALL_KEYS.matcher(part);
        if (all.matches()) {
            return dependency(OptionalInt.empty(), all.group(1), all.group(2), all.group(3), of);
        }
        throw line.wrong(
                "id_dep has '" + part + "'; it must be -1, an op_id as 0-4-s0, or a list in brackets as (3-s0.)");
    }

    private static DlcDependency dependency(
            OptionalInt key, String number, @Nullable String role, @Nullable String peer, DlcOperationId of) {
        return role == null || peer == null
                ? new DlcDependency(key, Integer.parseInt(number), of.peerRole(), of.peer())
                : new DlcDependency(key, Integer.parseInt(number), role(role), Integer.parseInt(peer));
    }
}
