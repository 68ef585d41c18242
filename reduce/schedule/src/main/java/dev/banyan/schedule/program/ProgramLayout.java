package dev.banyan.schedule.program;

import dev.banyan.schedule.Schedule;
import java.util.Objects;

/**
 * A program as it runs: where its moves are, how its data goes, and in which slices.
 *
 * @param program the program
 * @param grid which block repeats which move
 * @param lowLatency whether data goes in lines with flags, each lane in one slice; else as plain data in slots
 * @param sizes how it is cut
 */
public record ProgramLayout(DeviceProgram program, Grid grid, boolean lowLatency, ProgramSizes sizes) {
    private static final int WARP = 32;
    private static final int MOST_WARPS = 16;
    /** A part of a lane of so many bytes in lines is worth a block of its own. */
    private static final long PART_OF_LINES = 4 << 10;
    /** The same for plain data, in slices. */
    private static final long PART_IN_SLICES = 4;

    public ProgramLayout {
        Objects.requireNonNull(program, "program");
        Objects.requireNonNull(grid, "grid");
        Objects.requireNonNull(sizes, "sizes");
    }

    /**
     * Lays a schedule out. Lanes that carry much are cut into parts, so that more blocks have work.
     *
     * @param schedule a schedule that {@link dev.banyan.schedule.ScheduleVerifier} has proved
     * @throws IllegalArgumentException if a rank takes part in a lane with more moves than there may be blocks
     */
    public static ProgramLayout of(Schedule schedule, ProgramSizes sizes) {
        long bytes = schedule.collective().inputElements(schedule.count(), schedule.ranks()) * schedule.elementBytes();
        boolean lowLatency = bytes <= sizes.lowLatencyBytes();
        DeviceProgram program = ProgramCompiler.compile(schedule, 1, false);
        if (!program.lanes().isEmpty()) {
            int blocks = Grid.of(program, Integer.MAX_VALUE).widest();
            long longest = program.lanes().stream().mapToLong(Lane::bytes).max().orElseThrow();
            long enough = lowLatency ? PART_OF_LINES : PART_IN_SLICES * sizes.sliceBytes();
            int parts = Math.clamp(longest / enough, 1, Math.max(1, sizes.blocks() / blocks));
            if (parts > 1) {
                program = ProgramCompiler.compile(schedule, parts, false);
            }
        }
        return new ProgramLayout(program, Grid.of(program, sizes.blocks()), lowLatency, sizes);
    }

    /** Returns the bytes of each slice of a lane but the last; of a lane in lines, all of it. */
    public long sliceBytes(Lane lane) {
        return lowLatency ? lane.bytes() : sizes.sliceOf(lane.bytes());
    }

    /** Returns the number of slices of a lane. */
    public int slices(Lane lane) {
        return Math.toIntExact(Math.ceilDiv(lane.bytes(), sliceBytes(lane)));
    }

    /** Returns the threads of a block that move data: one for each 16 bytes of a slice, or 8 bytes of lines, up to 512. */
    public int workers() {
        long longest =
                program.lanes().stream().mapToLong(this::sliceBytes).max().orElse(1);
        return WARP * Math.clamp(Math.ceilDiv(longest, (lowLatency ? 8L : 16L) * WARP), 1, MOST_WARPS);
    }

    /**
     * Proves the program on its grid; see {@link ProgramVerifier}.
     *
     * @throws dev.banyan.schedule.ScheduleException if a lane is wrong
     * @throws IllegalArgumentException if the program, taken as a whole, is wrong
     */
    public void verify() {
        ProgramVerifier.verify(
                program, grid, program.lanes().stream().mapToInt(this::slices).toArray(), sizes.slots());
    }
}
