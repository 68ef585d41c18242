package dev.banyan.reduce.internal.code;

import dev.banyan.reduce.internal.code.StepCode.Fused;
import dev.banyan.reduce.internal.code.StepCode.Operand;
import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.Step;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Compiles chunks of one schedule. Steps of a chunk run in their order, one block at a time, on one thread, so every
 * location holds a known value at every point. A copy becomes one more target of the step that made the value, if
 * nothing accesses the copy's target in between: a broadcast down a tree becomes one step with n-1 targets, and no
 * value is read twice from memory.
 *
 * <p>Cost: O(operands) for each chunk.
 */
public final class ChunkCompiler {
    /** A step that copies may still join. */
    private static final class Open {
        public final List<Operand> sources = new ArrayList<>();
        public final List<Operand> targets = new ArrayList<>();
        public final List<Integer> senders = new ArrayList<>();
        public boolean mean;

        public void add(Operand target, int sender) {
            targets.add(target);
            senders.add(sender);
        }
    }

    /** The value that a location holds. */
    private static final class Value {
        /** Step that copies of it may join, or -1. */
        public int writer = -1;
        /** Step that reduced it, or -1. */
        public int reducer = -1;
        /** True if another reduction reads it. */
        public boolean partial;
    }

    private final Schedule schedule;
    private final boolean mean;
    private final int blockBytes;

    /** @param mean whether results are divided by the number of ranks */
    public ChunkCompiler(Schedule schedule, boolean mean, int blockBytes) {
        this.schedule = schedule;
        this.mean = mean && schedule.collective().reduces() && schedule.ranks() > 1;
        this.blockBytes = blockBytes;
    }

    /** Returns code that works on the buffers themselves. */
    public StepCode steps(Chunk chunk) {
        List<Open> code = new ArrayList<>();
        Map<Location, Value> values = new LinkedHashMap<>();
        Map<Location, Integer> touched = new HashMap<>();
        Map<Location, Operand> operands = new HashMap<>();
        for (Step step : chunk.steps()) {
            Location target = schedule.inBuffers(step.target());
            List<Location> sources =
                    step.sources().stream().map(schedule::inBuffers).toList();
            checkTarget(sources, target);
            Value value = values.computeIfAbsent(sources.getFirst(), source -> new Value());
            if (sources.size() == 1) {
                if (values.get(target) == value) {
                    continue;
                }
                if (value.writer >= 0 && touched.getOrDefault(target, -1) <= value.writer) {
                    code.get(value.writer)
                            .add(operand(target, operands), sources.getFirst().rank());
                    values.put(target, value);
                    touched.put(target, value.writer);
                    continue;
                }
                value.writer = code.size();
            } else {
                for (Location source : sources) {
                    values.computeIfAbsent(source, s -> new Value()).partial = true;
                }
                value = new Value();
                value.writer = code.size();
                value.reducer = code.size();
            }
            Open open = new Open();
            for (Location source : sources) {
                open.sources.add(operand(source, operands));
                touched.put(source, code.size());
            }
            open.add(
                    operand(target, operands),
                    sources.size() > 1 ? target.rank() : sources.getFirst().rank());
            touched.put(target, code.size());
            values.put(target, value);
            code.add(open);
        }
        if (mean) {
            values.forEach((location, value) -> {
                if (schedule.hasResultAt(location)) {
                    code.get(completingStep(location, value)).mean = true;
                }
            });
        }
        checkOverlaps(operands.keySet(), chunk.bytes());
        int privateBlocks = (int)
                operands.values().stream().filter(operand -> operand.slot() < 0).count();
        List<Fused> fused = code.stream()
                .map(o -> new Fused(o.sources, o.targets, o.senders, o.mean))
                .toList();
        return new StepCode(fused, schedule.elementBytes(), blockBytes, schedule.ranks(), privateBlocks);
    }

    /** Returns code for the exact mean of integers. */
    public IntegerMeanCode integerMean(Chunk chunk) {
        List<IntegerMeanCode.Action> actions = new ArrayList<>();
        Map<Location, Integer> sums = new HashMap<>();
        Map<Location, Integer> results = new LinkedHashMap<>();
        int count = 0;
        for (Step step : chunk.steps()) {
            Location target = schedule.inBuffers(step.target());
            List<Location> sources =
                    step.sources().stream().map(schedule::inBuffers).toList();
            checkTarget(sources, target);
            int sum = -1;
            for (int s = 0; s < sources.size(); s++) {
                Location source = sources.get(s);
                Integer next = sums.get(source);
                if (next == null) {
                    next = count++;
                    actions.add(new IntegerMeanCode.Action.Load(next, slot(source), source.offset()));
                    sums.put(source, next);
                }
                if (s == 0) {
                    sum = next;
                } else {
                    int total = s == 1 ? count++ : sum;
                    actions.add(new IntegerMeanCode.Action.Add(total, sum, next));
                    sum = total;
                }
            }
            sums.put(target, sum);
            if (schedule.hasResultAt(target)) {
                results.put(target, sum);
            }
        }
        results.forEach((location, sum) ->
                actions.add(new IntegerMeanCode.Action.Store(sum, slot(location), location.offset())));
        return new IntegerMeanCode(actions, schedule.elementBytes(), schedule.ranks(), count);
    }

    private static int completingStep(Location location, Value value) {
        if (value.reducer < 0 || value.partial) {
            throw new IllegalArgumentException("the result at " + location
                    + " is not made by a last reduction of its own, so its mean can't be taken; verify the schedule");
        }
        return value.reducer;
    }

    private static void checkTarget(List<Location> sources, Location target) {
        if (sources.lastIndexOf(target) > 0) {
            throw new IllegalArgumentException(
                    "a step writes " + target + ", which is not its first source; verify the schedule");
        }
    }

    /** Rejects ranges that overlap but differ, which would make elements depend on their neighbours. */
    private static void checkOverlaps(Iterable<Location> locations, long bytes) {
        Map<List<Object>, TreeSet<Long>> offsets = new HashMap<>();
        for (Location location : locations) {
            TreeSet<Long> there =
                    offsets.computeIfAbsent(List.of(location.rank(), location.space()), key -> new TreeSet<>());
            Long before = there.lower(location.offset());
            Long after = there.higher(location.offset());
            if ((before != null && before + bytes > location.offset())
                    || (after != null && location.offset() + bytes > after)) {
                throw new IllegalArgumentException(
                        "a chunk of " + bytes + " bytes overlaps itself at " + location + "; verify the schedule");
            }
            there.add(location.offset());
        }
    }

    private Operand operand(Location location, Map<Location, Operand> operands) {
        @Nullable Operand known = operands.get(location);
        if (known == null) {
            known = location.space() == Space.SCRATCH
                    ? new Operand(
                            -1,
                            operands.values().stream().filter(o -> o.slot() < 0).count(),
                            location.rank())
                    : new Operand(slot(location), location.offset(), location.rank());
            operands.put(location, known);
        }
        return known;
    }

    private int slot(Location location) {
        return switch (location.space()) {
            case INPUT -> location.rank();
            case OUTPUT -> schedule.ranks() + location.rank();
            case SCRATCH ->
                throw new IllegalArgumentException(
                        "scratch at " + location + " is read before it is written; verify the schedule");
        };
    }
}
