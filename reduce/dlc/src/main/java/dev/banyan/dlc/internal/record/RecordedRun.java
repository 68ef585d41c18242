package dev.banyan.dlc.internal.record;

import dev.banyan.kvstore.KeyInfo;
import dev.banyan.kvstore.StoreListener.Stage;
import dev.banyan.kvstore.StoreOperation;
import dev.banyan.kvstore.StoreOperation.Kind;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;

/** Groups the events of a store into rounds: a push and the pull that follows it. */
public final class RecordedRun {
    private static final int PULL = 2;

    /** By id, in the order in which they take effect. */
    private final SortedMap<Long, Timeline> operations = new TreeMap<>();

    private final List<KeyRound> rounds = new ArrayList<>();
    private final Map<Integer, KeyRound> last = new HashMap<>();
    private int pairs;

    /** The times of an operation's stages. */
    private static final class Timeline {
        final StoreOperation operation;
        final long submittedUs;
        final Map<Stage, Long> began = new EnumMap<>(Stage.class);
        final Map<Stage, Long> ended = new EnumMap<>(Stage.class);

        Timeline(StoreOperation operation, long submittedUs) {
            this.operation = operation;
            this.submittedUs = submittedUs;
        }

        OptionalLong end(Stage stage) {
            Long end = ended.get(stage);
            return end == null ? OptionalLong.empty() : OptionalLong.of(end);
        }

        /** Returns whether every stage that began has ended, the last one of its kind included. */
        boolean whole() {
            Stage needed = operation.kind() == Kind.PUSH ? Stage.REDUCE : Stage.BROADCAST;
            return (ended.containsKey(needed) || ended.containsKey(Stage.ALL_REDUCE))
                    && ended.keySet().equals(began.keySet());
        }
    }

    public void initialized(KeyInfo key, long timeUs) {
        KeyRound round = new KeyRound(key, 0, true, true, pairs++);
        round.set(0, timeUs, timeUs);
        round.set(1, timeUs, timeUs);
        rounds.add(round);
        last.put(key.number(), round);
    }

    public void submitted(StoreOperation operation, long timeUs) {
        operations.put(operation.id(), new Timeline(operation, timeUs));
    }

    public void began(StoreOperation operation, Stage stage, long timeUs) {
        Timeline timeline = operations.get(operation.id());
        if (timeline != null) {
            timeline.began.put(stage, timeUs);
        }
    }

    public void ended(StoreOperation operation, Stage stage, long timeUs) {
        Timeline timeline = operations.get(operation.id());
        if (timeline != null) {
            timeline.ended.put(stage, timeUs);
        }
    }

    /** All rounds, those of a key in order. */
    public List<KeyRound> rounds() {
        operations.values().stream().filter(Timeline::whole).forEach(this::add);
        return rounds;
    }

    private void add(Timeline timeline) {
        KeyInfo key = timeline.operation.key();
        Kind kind = timeline.operation.kind();
        KeyRound round = last.get(key.number());
        long readyUs = 0;
        if (round == null || kind != Kind.PULL || round.has(PULL)) {
            boolean initialised = round != null && round.initialised;
            readyUs = round == null ? 0 : round.endUs();
            round = new KeyRound(key, round == null ? 0 : round.iteration + 1, false, initialised, pairs++);
            rounds.add(round);
            last.put(key.number(), round);
        }
        OptionalLong whole = timeline.end(Stage.ALL_REDUCE);
        if (kind != Kind.PULL) {
            long reduced = whole.orElseGet(() -> timeline.end(Stage.REDUCE).orElseThrow());
            long updated = timeline.end(Stage.UPDATE).orElse(reduced);
            // One that is submitted before the key's last value is there waits for that.
            round.set(0, Math.max(timeline.submittedUs, readyUs), reduced);
            round.set(1, updated, updated);
        }
        if (kind != Kind.PUSH) {
            long asked = whole.orElseGet(() -> timeline.began.getOrDefault(Stage.BROADCAST, timeline.submittedUs));
            long there = whole.orElseGet(() -> timeline.end(Stage.BROADCAST).orElseThrow());
            round.set(PULL, asked, asked);
            round.set(PULL + 1, there, asked);
        }
    }
}
