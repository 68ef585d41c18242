package dev.banyan.schedule;

import java.util.List;

/**
 * Proves that a schedule does what its collective says, in every order of execution that its dependencies
 * allow, by following it symbolically. It proves that
 *
 * <ul>
 *   <li>every element of every output is made of exactly the right contributions: for a reduction, each
 *       rank's element of the same index once; else, the one element;
 *   <li>all ranks get an element by the same expression, hence the same bits;
 *   <li>no step reads what is not yet written: memory that nothing has written, or that is written by a step for which
 *     it does not wait;
 *   <li>if one of two steps that access the same bytes writes them, a dependency orders the two: within a chunk, across
 *     chunks (between which nothing is ordered), and in place, where input and output are one memory;
 *   <li>written ranges of a chunk are equal or disjoint, so that it may be cut at any element;
 *   <li>inputs are written only where they are also an output, in place;
 *   <li>every range is inside its buffer and starts at an element.
 * </ul>
 *
 * <p>The verifier assumes nothing about the origin of the schedule. Steps whose results are not used are allowed if
 * they are right themselves. Cost: O(s d s/64) time for the dependencies of a chunk of s steps with d dependencies
 * each, plus O(m log m) for m locations in all; O(m + s s/64) memory.
 */
public final class ScheduleVerifier {
    private final Schedule schedule;
    private final Memory memory;
    private final Terms terms;
    private final Violations violations = new Violations();

    private ScheduleVerifier(Schedule schedule) {
        this.schedule = schedule;
        memory = new Memory(schedule);
        terms = new Terms(schedule.ranks());
    }

    /**
     * Verifies a schedule.
     *
     * @return the figures of the proof
     * @throws ScheduleException if it is wrong
     */
    public static ScheduleProof verify(Schedule schedule) {
        return new ScheduleVerifier(schedule).run();
    }

    private ScheduleProof run() {
        OverlapCheck overlaps = new OverlapCheck(memory);
        OutputCheck outputs = new OutputCheck(schedule, memory, terms, violations);
        int depth = 0;
        for (int i = 0; i < schedule.chunks().size() && !violations.isFull(); i++) {
            ChunkVerifier chunk = new ChunkVerifier(i, schedule, memory, terms, violations);
            chunk.run();
            depth = Math.max(depth, chunk.depth());
            long bytes = schedule.chunks().get(i).bytes();
            for (Cell cell : chunk.cells()) {
                overlaps.add(i, bytes, cell);
                outputs.add(bytes, cell);
            }
        }
        // Violations that follow from a wrong chunk would hide the first one.
        failIfWrong();
        overlaps.run(violations);
        failIfWrong();
        List<Summation> summations = outputs.run();
        failIfWrong();
        return new ScheduleProof(schedule.chunks().size(), schedule.stepCount(), depth, traffic(), summations);
    }

    private void failIfWrong() {
        if (!violations.isEmpty()) {
            throw new ScheduleException(schedule, violations.list());
        }
    }

    /** Returns the bytes that each rank is read from and reads: by source, then by reader. */
    private long[][] traffic() {
        long[][] bytes = new long[schedule.ranks()][schedule.ranks()];
        for (Chunk chunk : schedule.chunks()) {
            for (Step step : chunk.steps()) {
                for (Location source : step.sources()) {
                    if (source.rank() != step.target().rank()) {
                        bytes[source.rank()][step.target().rank()] += chunk.bytes();
                    }
                }
            }
        }
        return bytes;
    }
}
