package dev.banyan.dlc.internal.record;

import dev.banyan.dlc.internal.format.DlcDependency;
import dev.banyan.dlc.internal.format.DlcDependencyType;
import dev.banyan.dlc.internal.format.DlcHeader;
import dev.banyan.dlc.internal.format.DlcMessage;
import dev.banyan.dlc.internal.format.DlcOperation;
import dev.banyan.dlc.internal.format.DlcOperationId;
import dev.banyan.dlc.internal.format.DlcRecord;
import dev.banyan.dlc.internal.format.DlcRole;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Stream;

/** Makes the records of one node out of the rounds of a run. */
abstract sealed class NodeRecords permits WorkerRecords, ServerRecords {
    final DlcHeader header;
    private final DlcRole role;
    private final Map<DlcOperationId, Long> timesUs = new HashMap<>();
    private final List<DlcMessage> made = new ArrayList<>();

    NodeRecords(DlcHeader header, DlcRole role) {
        this.header = header;
        this.role = role;
    }

    /** The node's records in the order of time, numbered. */
    public final List<DlcRecord> records(List<KeyRound> rounds) {
        rounds.forEach(this::begin);
        rounds.forEach(this::add);
        made.sort(Comparator.comparingLong(DlcMessage::timeUs));
        List<DlcRecord> records = new ArrayList<>();
        made.forEach(message -> records.add(numbered(message, records.size())));
        return records;
    }

    private static DlcMessage numbered(DlcMessage message, int id) {
        return new DlcMessage(
                id,
                message.src(),
                message.dst(),
                message.length(),
                message.number(),
                message.operation(),
                message.operationId(),
                message.dependencyType(),
                message.delayUs(),
                message.timeUs(),
                message.dependencies());
    }

    /** Sees a round before any record is made. */
    abstract void begin(KeyRound round);

    /** Makes a round's records. */
    abstract void add(KeyRound round);

    /** Makes a record whose dependencies, where they are in the trace already, give its delay. */
    final void add(KeyRound round, int message, int worker, DlcOperationId name, List<DlcDependency> dependencies) {
        long timeUs = round.timeUs(role, message);
        OptionalLong before = dependencies.stream()
                .flatMap(dependency -> dependency.key().isPresent()
                        ? Stream.of(new DlcOperationId(
                                dependency.key().getAsInt(),
                                dependency.number(),
                                dependency.peerRole(),
                                dependency.peer()))
                        : Stream.of(new DlcOperationId(name.key(), dependency.number(), name.peerRole(), name.peer())))
                .flatMap(operation -> Stream.ofNullable(timesUs.get(operation)))
                .mapToLong(Long::longValue)
                .max();
        timesUs.put(name, timeUs);
        int server = header.servers().get(round.key.server());
        boolean toServer = message % 2 == 0;
        made.add(new DlcMessage(
                made.size(),
                toServer ? worker : server,
                toServer ? server : worker,
                round.length(message),
                round.number(message),
                operation(message),
                name,
                dependencies.isEmpty() ? DlcDependencyType.INDEPENDENT : type(message),
                before.isPresent() ? timeUs - before.getAsLong() : 0,
                timeUs,
                dependencies));
    }

    private DlcOperation operation(int message) {
        return Stream.of(DlcOperation.values())
                .filter(operation -> operation.role() == role && operation.message() == message)
                .findFirst()
                .orElseThrow();
    }

    private static DlcDependencyType type(int message) {
        return switch (message) {
            case 0 -> DlcDependencyType.PUSH_ON_PULL;
            case 1 -> DlcDependencyType.PUSH_ON_PUSH;
            case 2 -> DlcDependencyType.PULL_ON_PUSH;
            default -> DlcDependencyType.PULL_ON_PULL;
        };
    }

    /** Number of an operation where the first that counts is the third of the iteration, or of all. */
    static int number(KeyRound round, int message, boolean early) {
        return DlcOperation.MESSAGES * round.iteration + message - (early ? 2 : 0);
    }
}
