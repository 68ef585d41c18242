package dev.banyan.msccl;

import dev.banyan.msccl.Algo.Instruction;
import dev.banyan.msccl.Algo.Instruction.Position;
import dev.banyan.msccl.Algo.Threadblock;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Space;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** A threadblock while it is filled. */
final class BlockBuilder {
    /**
     * The properties that distinguish it from others.
     *
     * @param rank its GPU
     * @param channel its channel
     * @param send rank that it sends to, or -1
     * @param receive rank that it receives from, or -1; both are -1 for local copies alone
     */
    record Key(int rank, int channel, int send, int receive) implements Comparable<Key> {
        private static final Comparator<Key> ORDER = Comparator.comparingInt(Key::rank)
                .thenComparingInt(Key::channel)
                .thenComparingInt(Key::send)
                .thenComparingInt(Key::receive);

        @Override
        public int compareTo(Key other) {
            return ORDER.compare(this, other);
        }

        boolean sends() {
            return send >= 0;
        }

        boolean receives() {
            return receive >= 0;
        }
    }

    /**
     * A step.
     *
     * @param action what it does one side of; null for a no-operation
     * @param side which side
     * @param block threadblock of the same rank to wait for, or -1
     * @param step the step of that threadblock
     */
    private record Entry(@Nullable Action action, int side, int block, int step) {}

    private final Key key;
    private final List<Entry> entries = new ArrayList<>();
    private final BitSet awaited = new BitSet();
    /** Latest step of each other threadblock that is done for certain. */
    private final Map<Integer, Integer> passed = new HashMap<>();
    /** The same for each step when it is done. */
    private final List<Map<Integer, Integer>> clocks = new ArrayList<>();

    private int id;

    BlockBuilder(Key key) {
        this.key = key;
    }

    Key key() {
        return key;
    }

    int id() {
        return id;
    }

    void setId(int id) {
        this.id = id;
    }

    /** Number of steps, no-instructions included. */
    int size() {
        return entries.size();
    }

    /**
     * Returns those steps to wait for, by threadblock of the same rank, that are not done for certain by then; the next
     * step is taken to wait for them.
     *
     * @param own the rank's threadblocks, by id
     */
    SortedMap<Integer, Integer> needed(Map<Integer, Integer> waits, List<BlockBuilder> own) {
        SortedMap<Integer, Integer> needed = new TreeMap<>(waits);
        needed.remove(id);
        needed.entrySet().removeIf(wait -> passed.getOrDefault(wait.getKey(), -1) >= wait.getValue());
        List<Map<Integer, Integer>> implied = needed.entrySet().stream()
                .map(wait -> own.get(wait.getKey()).clocks.get(wait.getValue()))
                .toList();
        needed.entrySet()
                .removeIf(wait ->
                        implied.stream().anyMatch(clock -> clock.getOrDefault(wait.getKey(), -1) >= wait.getValue()));
        needed.forEach((block, step) -> {
            own.get(block).clocks.get(step).forEach((other, done) -> passed.merge(other, done, Math::max));
            passed.merge(block, step, Math::max);
        });
        return needed;
    }

    /** Adds a step, and before it a no-operation for each thing to wait for but the last; returns its index. */
    int append(Action action, int side, SortedMap<Integer, Integer> waits) {
        if (waits.isEmpty()) {
            entries.add(new Entry(action, side, -1, -1));
        } else {
            int last = waits.lastKey();
            waits.headMap(last).forEach((block, step) -> entries.add(new Entry(null, side, block, step)));
            entries.add(new Entry(action, side, last, waits.getOrDefault(last, -1)));
        }
        Map<Integer, Integer> clock = Map.copyOf(passed);
        while (clocks.size() < entries.size()) {
            clocks.add(clock);
        }
        return entries.size() - 1;
    }

    void setAwaited(int step) {
        awaited.set(step);
    }

    Threadblock build() {
        List<Instruction> instructions = new ArrayList<>(entries.size());
        for (int i = 0; i < entries.size(); i++) {
            instructions.add(instruction(entries.get(i), awaited.get(i)));
        }
        return new Threadblock(id, key.send, key.receive, key.channel, instructions);
    }

    private static Instruction instruction(Entry entry, boolean awaited) {
        Action action = entry.action;
        if (action == null) {
            return new Instruction(
                    Opcode.NOP, Space.INPUT, -1, Space.OUTPUT, -1, 0, entry.block, entry.step, false, Position.NONE);
        }
        Opcode opcode = entry.side == Hazards.SENDER ? Opcode.SEND : action.targetOpcode();
        Location source =
                opcode == Opcode.RECEIVE_REDUCE_COPY && action.operand() != null ? action.operand() : action.source();
        return new Instruction(
                opcode,
                source.space(),
                Math.toIntExact(source.offset()),
                action.target().space(),
                Math.toIntExact(action.target().offset()),
                action.count(),
                entry.block,
                entry.step,
                awaited,
                Position.NONE);
    }
}
