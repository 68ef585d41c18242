package dev.banyan.schedule;

import java.util.stream.Collectors;

/**
 * Writes schedules as text for people. A location reads {@code 3.out[0..4096)}: bytes 0 to 4095 of rank 3's output. A
 * step reads {@code 3.out[0..4096) = 3.in[0..4096) + 1.out[0..4096) after 2,4}, where + stands for any operation, and 2
 * and 4 are steps of the same chunk.
 */
public final class SchedulePrinter {
    private SchedulePrinter() {}

    /** Returns the whole schedule, with a line per chunk and per step. */
    public static String print(Schedule schedule) {
        StringBuilder text = new StringBuilder(String.format(
                "%s %s%s: %d ranks, %d elements of %d bytes, %s, %d bytes of scratch, %d chunks%n",
                schedule.algorithm(),
                schedule.collective().label(),
                schedule.collective().hasRoot() ? " at rank " + schedule.root() : "",
                schedule.ranks(),
                schedule.count(),
                schedule.elementBytes(),
                schedule.inPlace() ? "in place" : "out of place",
                schedule.scratchBytes(),
                schedule.chunks().size()));
        for (int c = 0; c < schedule.chunks().size(); c++) {
            Chunk chunk = schedule.chunks().get(c);
            text.append(String.format("chunk %d: %d bytes%n", c, chunk.bytes()));
            for (int s = 0; s < chunk.steps().size(); s++) {
                text.append(String.format("  %d: %s%n", s, print(chunk.steps().get(s), chunk.bytes())));
            }
        }
        return text.toString();
    }

    /**
     * Returns one step.
     *
     * @param bytes length of its chunk in bytes
     */
    public static String print(Step step, long bytes) {
        String sources =
                step.sources().stream().map(source -> print(source, bytes)).collect(Collectors.joining(" + "));
        String after = step.after().isEmpty()
                ? ""
                : step.after().stream().map(String::valueOf).collect(Collectors.joining(",", " after ", ""));
        return print(step.target(), bytes) + " = " + sources + after;
    }

    /**
     * Returns one location.
     *
     * @param bytes length of its chunk in bytes
     */
    public static String print(Location location, long bytes) {
        String space = switch (location.space()) {
            case INPUT -> "in";
            case OUTPUT -> "out";
            case SCRATCH -> "scratch";
        };
        return location.rank() + "." + space + "[" + location.offset() + ".." + (location.offset() + bytes) + ")";
    }
}
