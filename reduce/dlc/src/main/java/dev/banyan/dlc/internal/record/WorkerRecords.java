package dev.banyan.dlc.internal.record;

import dev.banyan.dlc.internal.format.DlcDependency;
import dev.banyan.dlc.internal.format.DlcHeader;
import dev.banyan.dlc.internal.format.DlcOperation;
import dev.banyan.dlc.internal.format.DlcOperationId;
import dev.banyan.dlc.internal.format.DlcRole;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** The records of a worker. */
public final class WorkerRecords extends NodeRecords {
    private static final int VALUE = DlcOperation.MESSAGES - 1;

    private final int worker;
    /** By iteration: when the last value was there. */
    private final Map<Integer, Long> valuesUs = new HashMap<>();

    private final Map<Integer, Set<Integer>> pulled = new HashMap<>();
    private final Set<Integer> servers = new TreeSet<>();

    public WorkerRecords(DlcHeader header, int worker) {
        super(header, DlcRole.WORKER);
        this.worker = worker;
    }

    @Override
    void begin(KeyRound round) {
        if (round.has(VALUE)) {
            valuesUs.merge(round.iteration, round.timeUs(DlcRole.WORKER, VALUE), Math::max);
            pulled.computeIfAbsent(round.iteration, iteration -> new HashSet<>())
                    .add(round.key.number());
            servers.add(round.key.server());
        }
    }

    @Override
    void add(KeyRound round) {
        for (int message = 0; message < DlcOperation.MESSAGES; message++) {
            if (round.has(message, worker)) {
                add(round, message, worker, name(round, message), dependencies(round, message));
            }
        }
    }

    private DlcOperationId name(KeyRound round, int message) {
        return new DlcOperationId(
                round.key.number(), number(round, message, early(round)), DlcRole.SERVER, round.key.server());
    }

    /** Worker 0 begins with the push of a key's first value, the others with its pull. */
    private boolean early(KeyRound round) {
        return round.initialised && worker > 0;
    }

    private List<DlcDependency> dependencies(KeyRound round, int message) {
        if (message > 0) {
            return round.has(message - 1, worker) ? List.of(DlcDependency.on(name(round, message - 1))) : List.of();
        }
        int before = round.iteration - 1;
        if (!pulled.getOrDefault(before, Set.of()).contains(round.key.number())) {
            return List.of();
        }
        int number = number(round, message, early(round)) - 1;
        if (round.timeUs(DlcRole.WORKER, 0) < valuesUs.getOrDefault(before, Long.MAX_VALUE)) {
            // It did not wait for the others.
            return List.of(DlcDependency.on(
                    new DlcOperationId(round.key.number(), number, DlcRole.SERVER, round.key.server())));
        }
        List<DlcDependency> all = new ArrayList<>();
        servers.forEach(server -> all.add(DlcDependency.onAllKeys(number, DlcRole.SERVER, server)));
        return all;
    }
}
