package dev.banyan.schedule.internal.program;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Step;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Makes the moves of one chunk; used once.
 *
 * <p>A step becomes a move on its target's device. What it reads on another device comes over a channel from the move
 * that makes it there; that move stores it right into the channel, beside or instead of the memory that the step
 * names. Inputs that other devices read are sent by moves of their own, which also copy them on their device; a copy
 * that is not aligned slows the sending, too. A copy into scratch memory that one step of its device reads is no move:
 * the step reads a channel, from another device or from this one.
 *
 * <p>The order that the steps had by their dependencies is kept where memory needs it: accesses of which one writes are
 * ordered by channels, if need be by channels without data.
 */
final class LaneCompiler {
    /** The value that a step has written to a location, or that was there at the start. */
    private static final class Value {
        private final Location location;
        /** The step, or -1. */
        private final int writer;

        private final List<Read> reads = new ArrayList<>();
        private boolean isResult;
        /** The move that loads it alone, if the writer is -1: it sends it, and copies it on its device. */
        private int sender = NONE;

        Value(Location location, int writer) {
            this.location = location;
            this.writer = writer;
        }
    }

    /** Reading of a step's source. */
    private record Read(int step, int source) {}

    /** A move in the making. */
    private static final class Draft {
        private final int rank;
        private final int step;
        private final List<Operand> inputs = new ArrayList<>();
        private final List<Operand> locals = new ArrayList<>();
        private final List<Operand> sent = new ArrayList<>();

        Draft(int rank, int step) {
            this.rank = rank;
            this.step = step;
        }
    }

    private static final int NONE = -1;

    private final Schedule schedule;
    private final Chunk chunk;
    private final List<Step> steps = new ArrayList<>();
    private final Value[][] sources;
    private final Value[] results;
    private final boolean[] needed;
    /** Steps that are part of the only step that reads their result. */
    private final boolean[] absorbed;

    /** Reads of what was on the same device when a copy read it: this goes over a channel too. */
    private final Set<Read> copied = new HashSet<>();

    private boolean takesMeans = true;

    LaneCompiler(Schedule schedule, Chunk chunk) {
        this.schedule = schedule;
        this.chunk = chunk;
        int count = chunk.steps().size();
        sources = new Value[count][];
        results = new Value[count];
        needed = new boolean[count];
        absorbed = new boolean[count];
        follow();
        markNeeded();
        absorbCopies();
    }

    /** Returns the lane, or null if no step has an effect. */
    @Nullable
    Lane lane() {
        Set<Integer> completing = completing();
        Moves moves = new Moves();
        moves.make();
        return moves.drafts.isEmpty() ? null : moves.lane(completing);
    }

    /** Returns whether every element of the result has one last reduction of its own. After {@link #lane}. */
    boolean takesMeans() {
        return takesMeans;
    }

    private void follow() {
        Map<Location, Value> current = new LinkedHashMap<>();
        for (int s = 0; s < sources.length; s++) {
            Step step = chunk.steps().get(s);
            List<Location> read =
                    step.sources().stream().map(schedule::inBuffers).toList();
            Location target = schedule.inBuffers(step.target());
            steps.add(new Step(read, target, step.after()));
            sources[s] = new Value[read.size()];
            for (int i = 0; i < read.size(); i++) {
                Value value = current.computeIfAbsent(read.get(i), location -> new Value(location, NONE));
                value.reads.add(new Read(s, i));
                sources[s][i] = value;
            }
            results[s] = new Value(target, s);
            current.put(target, results[s]);
        }
        current.values()
                .forEach(value -> value.isResult = value.writer != NONE && schedule.hasResultAt(value.location));
    }

    private void markNeeded() {
        for (int s = needed.length - 1; s >= 0; s--) {
            needed[s] = results[s].isResult || results[s].reads.stream().anyMatch(read -> needed[read.step()]);
        }
        for (Value[] values : sources) {
            for (Value value : values) {
                value.reads.removeIf(read -> !needed[read.step()]);
            }
        }
    }

    private int rank(int step) {
        return steps.get(step).target().rank();
    }

    private void absorbCopies() {
        for (int s = 0; s < absorbed.length; s++) {
            Value result = results[s];
            if (!needed[s] || sources[s].length != 1 || result.isResult || result.reads.size() != 1) {
                continue;
            }
            Read read = result.reads.getFirst();
            if (rank(read.step()) == rank(s)) {
                absorbed[s] = true;
                Value source = sources[s][0];
                source.reads.remove(new Read(s, 0));
                source.reads.add(read);
                sources[read.step()][read.source()] = source;
                if (source.location.rank() == rank(s)) {
                    copied.add(read);
                }
            }
        }
    }

    /** Returns whether a step gets a source over a channel. */
    private boolean isSent(int s, int source) {
        return sources[s][source].location.rank() != rank(s) || copied.contains(new Read(s, source));
    }

    /** Returns the steps that make the last reductions of what is in the result. */
    private Set<Integer> completing() {
        Set<Integer> completing = new HashSet<>();
        if (!schedule.collective().reduces()) {
            return completing;
        }
        Set<Value> summands = new HashSet<>();
        for (int s = 0; s < needed.length; s++) {
            if (needed[s] && !absorbed[s] && sources[s].length > 1) {
                for (Value source : sources[s]) {
                    summands.add(origin(source));
                }
            }
        }
        for (int s = 0; s < needed.length; s++) {
            if (results[s].isResult) {
                Value origin = origin(results[s]);
                takesMeans &= origin.writer != NONE && !summands.contains(origin);
                completing.add(origin.writer);
            }
        }
        return completing;
    }

    /** Returns the first value of which this one is a copy. */
    private Value origin(Value value) {
        Value origin = value;
        while (origin.writer != NONE && sources[origin.writer].length == 1) {
            origin = sources[origin.writer][0];
        }
        return origin;
    }

    /** The moves in the making. */
    private final class Moves {
        private final List<Draft> drafts = new ArrayList<>();
        private final List<Channel> channels = new ArrayList<>();
        /** The move of each step. */
        private final int[] moveOf = new int[sources.length];
        /** Moves that have always seen a slice before a move begins with it. */
        private final List<BitSet> before = new ArrayList<>();
        /** For each location, the last move that wrote it, and those that have read it since. */
        private final Map<Location, Integer> writers = new HashMap<>();

        private final Map<Location, Set<Integer>> readers = new HashMap<>();

        void make() {
            for (int s = 0; s < sources.length; s++) {
                if (needed[s]) {
                    addSenders(s);
                }
                if (needed[s] && !absorbed[s]) {
                    add(s);
                }
            }
        }

        /** Adds moves that send what a step gets over channels and no step has written. */
        private void addSenders(int s) {
            for (int i = 0; i < sources[s].length; i++) {
                Value source = sources[s][i];
                if ((absorbed[s] || isSent(s, i)) && source.writer == NONE && source.sender == NONE) {
                    source.sender = begin(source.location.rank(), s);
                    load(source.location, source.sender);
                }
            }
        }

        private void load(Location location, int move) {
            drafts.get(move).inputs.add(new Operand.Local(location));
            read(location, move);
        }

        private void add(int s) {
            int move = copiesInput(s) ? copier(s) : combine(s);
            moveOf[s] = move;
            Value result = results[s];
            if (result.isResult
                    || result.reads.stream().anyMatch(read -> rank(read.step()) == rank(s) && !copied.contains(read))) {
                drafts.get(move).locals.add(new Operand.Local(result.location));
                write(result.location, move);
            }
        }

        private int combine(int s) {
            int move = begin(rank(s), s);
            for (int i = 0; i < sources[s].length; i++) {
                if (isSent(s, i)) {
                    connect(sources[s][i], move);
                } else {
                    load(sources[s][i].location, move);
                }
            }
            return move;
        }

        /** Returns whether a step copies an input on its device to where nothing has been in the lane. */
        private boolean copiesInput(int s) {
            Location target = results[s].location;
            return sources[s].length == 1
                    && sources[s][0].writer == NONE
                    && !isSent(s, 0)
                    && !writers.containsKey(target)
                    && !readers.containsKey(target);
        }

        /** Returns the move that loads a step's input: it loads it once for all devices. */
        private int copier(int s) {
            Value input = sources[s][0];
            if (input.sender == NONE) {
                input.sender = begin(rank(s), s);
                load(input.location, input.sender);
            }
            return input.sender;
        }

        private int begin(int rank, int s) {
            drafts.add(new Draft(rank, s));
            before.add(new BitSet());
            return drafts.size() - 1;
        }

        private void connect(Value source, int to) {
            int from = source.writer == NONE ? source.sender : moveOf[source.writer];
            drafts.get(from).sent.add(new Operand.Via(channels.size()));
            drafts.get(to).inputs.add(new Operand.Via(channels.size()));
            channel(from, to, Channel.Kind.SLOTS);
        }

        private void channel(int from, int to, Channel.Kind kind) {
            channels.add(new Channel(from, to, kind));
            before.get(to).or(before.get(from));
            before.get(to).set(from);
        }

        private void order(int first, int second) {
            if (first != second && !before.get(second).get(first)) {
                channel(first, second, Channel.Kind.ORDER);
            }
        }

        private void read(Location location, int move) {
            Integer writer = writers.get(location);
            if (writer != null) {
                order(writer, move);
            }
            readers.computeIfAbsent(location, _ -> new HashSet<>()).add(move);
        }

        private void write(Location location, int move) {
            Integer writer = writers.get(location);
            if (writer != null) {
                order(writer, move);
            }
            readers.getOrDefault(location, Set.of()).stream().sorted().forEach(reader -> order(reader, move));
            writers.put(location, move);
            readers.remove(location);
        }

        Lane lane(Set<Integer> completing) {
            List<Move> made = new ArrayList<>();
            for (int m = 0; m < drafts.size(); m++) {
                Draft draft = drafts.get(m);
                boolean works = moveOf[draft.step] == m;
                List<Operand> outputs = new ArrayList<>(draft.sent);
                outputs.addAll(draft.locals);
                made.add(new Move(
                        draft.rank,
                        draft.inputs,
                        outputs,
                        works && completing.contains(draft.step) && sources[draft.step].length > 1,
                        draft.step));
            }
            return new Lane(chunk.bytes(), made, channels);
        }
    }
}
