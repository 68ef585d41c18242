package dev.banyan.schedule;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Follows the steps of one chunk symbolically; used once. If one of two steps that access a cell writes it, the
 * dependencies must order the two, so that every allowed order of execution has the same result.
 */
final class ChunkVerifier {
    private final int index;
    private final Chunk chunk;
    private final Schedule schedule;
    private final Memory memory;
    private final Terms terms;
    private final Violations violations;
    private final Map<Place, Cell> cells = new HashMap<>();
    /** For each step, the steps that have always ended when it starts. */
    private final BitSet[] before;

    private int depth;

    ChunkVerifier(int index, Schedule schedule, Memory memory, Terms terms, Violations violations) {
        this.index = index;
        this.schedule = schedule;
        this.memory = memory;
        this.terms = terms;
        this.violations = violations;
        chunk = schedule.chunks().get(index);
        before = new BitSet[chunk.steps().size()];
    }

    /** Checks the chunk; stops at the first invalid step. */
    void run() {
        if (chunk.bytes() % schedule.elementBytes() != 0) {
            violations.add(
                    index,
                    Violation.NONE,
                    "its length of " + chunk.bytes() + " bytes is not a multiple of the element size of "
                            + schedule.elementBytes());
            return;
        }
        int[] depths = new int[before.length];
        for (int i = 0; i < before.length; i++) {
            Step step = chunk.steps().get(i);
            before[i] = new BitSet(i);
            for (int earlier : step.after()) {
                before[i].or(before[earlier]);
                before[i].set(earlier);
                depths[i] = Math.max(depths[i], depths[earlier]);
            }
            depth = Math.max(depth, ++depths[i]);
            if (!follow(i, step)) {
                return;
            }
        }
    }

    /** Returns all byte ranges that the steps access. */
    Collection<Cell> cells() {
        return cells.values();
    }

    /** Returns the number of steps in the longest chain of dependencies. */
    int depth() {
        return depth;
    }

    private boolean follow(int i, Step step) {
        if (!isLegal(i, step)) {
            return false;
        }
        Cell target = cell(step.target());
        List<Cell> sources = new ArrayList<>(step.sources().size());
        List<Integer> summands = new ArrayList<>(step.sources().size());
        for (Location location : step.sources()) {
            Cell source = cell(location);
            sources.add(source);
            summands.add(source.term);
        }
        for (Cell source : sources) {
            if (source.term == Cell.NONE) {
                return complain(i, "it reads " + print(source) + ", which nothing has written");
            }
            if (source.isWritten() && !before[i].get(source.writer)) {
                return complain(
                        i,
                        "it reads " + print(source) + " but does not wait for step " + source.writer
                                + ", which writes that");
            }
        }
        if (sources.lastIndexOf(target) > 0) {
            return complain(i, "its target is also a source other than the first");
        }
        if (target.isWritten() && !before[i].get(target.writer)) {
            return complain(
                    i,
                    "it overwrites " + print(target) + " but does not wait for step " + target.writer
                            + ", which writes that too");
        }
        for (int reader : target.readers) {
            if (!before[i].get(reader)) {
                return complain(
                        i,
                        "it overwrites " + print(target) + " but does not wait for step " + reader
                                + ", which reads that");
            }
        }
        if (step.reduces() && !canSum(i, sources, summands)) {
            return false;
        }
        sources.forEach(source -> source.readers.add(i));
        target.term = step.reduces() ? terms.sum(summands) : sources.getFirst().term;
        target.input = sources.getFirst().input;
        target.writer = i;
        target.readers.clear();
        return true;
    }

    private boolean isLegal(int i, Step step) {
        for (Location source : step.sources()) {
            if (!isLegal(i, source)) {
                return false;
            }
        }
        if (!isLegal(i, step.target())) {
            return false;
        }
        boolean mayWrite = step.target().space() == Space.SCRATCH
                || memory.offsetIn(Space.OUTPUT, memory.place(step.target()), chunk.bytes()) >= 0;
        if (!mayWrite) {
            return complain(i, "it writes to an input, " + SchedulePrinter.print(step.target(), chunk.bytes()));
        }
        if (step.reduces() && !schedule.collective().reduces()) {
            return complain(i, "it reduces, but " + schedule.collective().label() + " has no operation");
        }
        return true;
    }

    private boolean isLegal(int i, Location location) {
        if (!memory.contains(location, chunk.bytes())) {
            return complain(
                    i,
                    SchedulePrinter.print(location, chunk.bytes()) + " is outside of what rank " + location.rank()
                            + " has there");
        }
        if (location.offset() % schedule.elementBytes() != 0) {
            return complain(
                    i,
                    SchedulePrinter.print(location, chunk.bytes())
                            + " does not start at a multiple of the element size of " + schedule.elementBytes()
                            + " bytes");
        }
        return true;
    }

    private boolean canSum(int i, List<Cell> sources, List<Integer> summands) {
        for (Cell source : sources) {
            if (source.input != sources.getFirst().input) {
                return complain(
                        i,
                        "it combines different elements: " + print(sources.getFirst())
                                + " holds those from input byte " + sources.getFirst().input + ", " + print(source)
                                + " those from " + source.input);
            }
        }
        int repeated = terms.repeatedRank(summands);
        return repeated < 0 || complain(i, "rank " + repeated + " contributes more than once");
    }

    private boolean complain(int i, String message) {
        String step = SchedulePrinter.print(chunk.steps().get(i), chunk.bytes());
        violations.add(index, i, message + "; the step is " + step);
        return false;
    }

    private String print(Cell cell) {
        return SchedulePrinter.print(cell.location, chunk.bytes());
    }

    private Cell cell(Location location) {
        return cells.computeIfAbsent(
                memory.place(location),
                place -> new Cell(place, location, memory.offsetIn(Space.INPUT, place, chunk.bytes())));
    }
}
