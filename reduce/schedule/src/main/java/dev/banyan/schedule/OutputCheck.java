package dev.banyan.schedule;

import dev.banyan.schedule.type.Collective;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Checks that every output is completely written, with the right contributions, and with the same term on every rank.
 */
final class OutputCheck {
    private final Schedule schedule;
    private final Memory memory;
    private final Terms terms;
    private final Violations violations;
    private final List<List<Segment>> written = new ArrayList<>();

    OutputCheck(Schedule schedule, Memory memory, Terms terms, Violations violations) {
        this.schedule = schedule;
        this.memory = memory;
        this.terms = terms;
        this.violations = violations;
        for (int rank = 0; rank < schedule.ranks(); rank++) {
            written.add(new ArrayList<>());
        }
    }

    /** Adds what a chunk has written to a cell. */
    void add(long bytes, Cell cell) {
        long offset = memory.offsetIn(Space.OUTPUT, cell.place, bytes);
        if (cell.isWritten() && offset >= 0) {
            written.get(cell.place.rank()).add(new Segment(offset, offset + bytes, cell.term, cell.input));
        }
    }

    /** Checks all outputs and returns the order of summation of all elements, empty if nothing is reduced. */
    List<Summation> run() {
        List<Summation> summations = new ArrayList<>();
        List<Segment> first = List.of();
        for (int rank = 0; rank < schedule.ranks(); rank++) {
            List<Segment> segments = covered(rank);
            for (Segment segment : segments) {
                check(rank, segment);
            }
            List<Segment> merged = merged(segments);
            if (schedule.collective() == Collective.ALL_REDUCE && rank > 0) {
                compare(first, merged, rank);
            } else {
                first = merged;
                merged.forEach(segment -> summations.add(summation(segment)));
            }
        }
        return schedule.collective().reduces() ? summations : List.of();
    }

    /** Returns the segments of a rank's output that were written or were there from the start, in ascending order. */
    private List<Segment> covered(int rank) {
        List<Segment> segments = new ArrayList<>();
        long end = 0;
        for (Segment segment : written.get(rank).stream()
                .sorted(Comparator.comparingLong(Segment::from))
                .toList()) {
            addInitial(rank, end, segment.from(), segments);
            segments.add(segment);
            end = segment.to();
        }
        addInitial(rank, end, memory.size(rank, Space.OUTPUT), segments);
        return segments;
    }

    /** Adds bytes of the output that no step has written; in place the input may be there. */
    private void addInitial(int rank, long from, long to, List<Segment> segments) {
        long shift = memory.start(rank, Space.OUTPUT).offset()
                - memory.start(rank, Space.INPUT).offset();
        long inputFrom = from;
        long inputTo = from;
        if (schedule.inPlace()) {
            inputFrom = Math.clamp(-shift, from, to);
            inputTo = Math.clamp(memory.size(rank, Space.INPUT) - shift, inputFrom, to);
        }
        complainOfGap(rank, from, inputFrom);
        if (inputFrom < inputTo) {
            segments.add(new Segment(inputFrom, inputTo, rank, inputFrom + shift));
        }
        complainOfGap(rank, inputTo, to);
    }

    private void complainOfGap(int rank, long from, long to) {
        if (from < to) {
            violations.add(bytes(rank, from, to) + " is never written");
        }
    }

    private void check(int rank, Segment segment) {
        long block = memory.blockBytes();
        int owner = segment.ownerIn(block);
        boolean right = switch (schedule.collective()) {
            case ALL_REDUCE, REDUCE -> isWhole(segment) && segment.input() == segment.from();
            case REDUCE_SCATTER -> isWhole(segment) && segment.input() == rank * block + segment.from();
            case BROADCAST -> segment.term() == schedule.root() && segment.input() == segment.from();
            case ALL_GATHER ->
                segment.term() == owner
                        && segment.input() == segment.from() - owner * block
                        && segment.to() <= (owner + 1) * block;
        };
        if (!right) {
            violations.add(bytes(rank, segment.from(), segment.to()) + " holds " + terms.print(segment.term())
                    + " from input byte " + segment.input() + ", which is not what "
                    + schedule.collective().label()
                    + " puts there");
        }
    }

    private boolean isWhole(Segment segment) {
        return terms.size(segment.term()) == schedule.ranks();
    }

    /** Joins neighbours that hold the same term of successive elements. */
    private static List<Segment> merged(List<Segment> segments) {
        List<Segment> merged = new ArrayList<>();
        for (Segment segment : segments) {
            if (!merged.isEmpty() && merged.getLast().isContinuedBy(segment)) {
                Segment last = merged.removeLast();
                merged.add(new Segment(last.from(), segment.to(), last.term(), last.input()));
            } else {
                merged.add(segment);
            }
        }
        return merged;
    }

    private void compare(List<Segment> first, List<Segment> other, int rank) {
        for (int i = 0; i < Math.min(first.size(), other.size()); i++) {
            if (!first.get(i).equals(other.get(i))) {
                violations.add("ranks 0 and " + rank + " sum in different orders from output byte "
                        + first.get(i).from() + ": " + terms.print(first.get(i).term()) + " and "
                        + terms.print(other.get(i).term())
                        + ", up to byte "
                        + Math.min(first.get(i).to(), other.get(i).to()));
                return;
            }
        }
    }

    private Summation summation(Segment segment) {
        long element = segment.input() / schedule.elementBytes();
        long length = (segment.to() - segment.from()) / schedule.elementBytes();
        return new Summation(element, element + length, terms.print(segment.term()));
    }

    private static String bytes(int rank, long from, long to) {
        return SchedulePrinter.print(new Location(rank, Space.OUTPUT, from), to - from);
    }

    /** Bytes [from, to) of an output hold a term of the elements from an input byte on. */
    private record Segment(long from, long to, int term, long input) {
        int ownerIn(long block) {
            return (int) (from / block);
        }

        boolean isContinuedBy(Segment next) {
            return to == next.from && term == next.term && input + (to - from) == next.input;
        }
    }
}
