package dev.banyan.dlc.internal.record;

import dev.banyan.dlc.internal.format.DlcDependency;
import dev.banyan.dlc.internal.format.DlcHeader;
import dev.banyan.dlc.internal.format.DlcOperation;
import dev.banyan.dlc.internal.format.DlcOperationId;
import dev.banyan.dlc.internal.format.DlcRole;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The records of a server. */
public final class ServerRecords extends NodeRecords {
    private static final int VALUE = DlcOperation.MESSAGES - 1;

    private final int server;
    /** Keys and iterations whose value was pulled. */
    private final Set<Pull> pulls = new HashSet<>();

    private record Pull(int key, int iteration) {}

    public ServerRecords(DlcHeader header, int server) {
        super(header, DlcRole.SERVER);
        this.server = server;
    }

    @Override
    void begin(KeyRound round) {
        if (round.has(VALUE)) {
            pulls.add(new Pull(round.key.number(), round.iteration));
        }
    }

    @Override
    void add(KeyRound round) {
        if (header.servers().get(round.key.server()) != server) {
            return;
        }
        for (int message = 0; message < DlcOperation.MESSAGES; message++) {
            for (int worker : header.workers()) {
                if (round.has(message, worker)) {
                    add(round, message, worker, name(round, message, worker), dependencies(round, message, worker));
                }
            }
        }
    }

    private static DlcOperationId name(KeyRound round, int message, int worker) {
        return new DlcOperationId(
                round.key.number(), number(round, message, round.initialised), DlcRole.WORKER, worker);
    }

    private List<DlcDependency> dependencies(KeyRound round, int message, int worker) {
        return switch (message) {
            case 0 ->
                pulls.contains(new Pull(round.key.number(), round.iteration - 1))
                        ? List.of(DlcDependency.on(new DlcOperationId(
                                round.key.number(), number(round, 0, round.initialised) - 1, DlcRole.WORKER, worker)))
                        : List.of();
            // All gradients make the sum.
            case 1 ->
                header.workers().stream()
                        .filter(other -> round.has(0, other))
                        .map(other -> DlcDependency.on(name(round, 0, other)))
                        .toList();
            // Worker 0 alone gets the acknowledgement of a key's first value.
            case 2 ->
                round.has(1) ? List.of(DlcDependency.on(name(round, 1, round.initialises ? 0 : worker))) : List.of();
            default -> List.of(DlcDependency.on(name(round, message - 1, worker)));
        };
    }
}
