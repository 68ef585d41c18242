package dev.banyan.schedule.internal.program;

import dev.banyan.schedule.Schedule;
import java.util.Arrays;
import java.util.List;
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
    /** The same for plain data, in the shortest slices. */
    private static final long PART_IN_SLICES = 4;
    /** Parts are longer than they need to be if that makes them more even by this factor. */
    private static final double EVENER = 1.05;
    /** Parts become longer by one in so many until there are enough blocks for them. */
    private static final long LONGER = 8;

    public ProgramLayout {
        Objects.requireNonNull(program, "program");
        Objects.requireNonNull(grid, "grid");
        Objects.requireNonNull(sizes, "sizes");
    }

    /**
     * Lays a schedule out. Lanes that carry much are cut into parts, so that more blocks have work. All parts are about
     * equally long: blocks that store over one link share it equally, so that the parts then end together.
     *
     * @param schedule a schedule that {@link dev.banyan.schedule.ScheduleVerifier} has proved
     * @throws IllegalArgumentException if a rank takes part in a lane with more moves than there may be blocks
     */
    public static ProgramLayout of(Schedule schedule, ProgramSizes sizes) {
        long bytes = schedule.collective().inputElements(schedule.count(), schedule.ranks()) * schedule.elementBytes();
        boolean lowLatency = bytes <= sizes.lowLatencyBytes();
        DeviceProgram program = ProgramCompiler.compile(schedule, Long.MAX_VALUE);
        long longest = program.lanes().stream().mapToLong(Lane::bytes).max().orElse(0);
        long part = part(program, lowLatency ? PART_OF_LINES : PART_IN_SLICES * sizes.leastSlice(), sizes.blocks());
        if (part < longest) {
            program = ProgramCompiler.compile(schedule, part);
        }
        return new ProgramLayout(program, Grid.of(program, sizes.blocks()), lowLatency, sizes);
    }

    /**
     * Returns the length of parts: the one whose parts differ least among those from the shortest for which there are
     * enough blocks to twice that.
     */
    private static long part(DeviceProgram program, long least, int blocks) {
        long longest = program.lanes().stream().mapToLong(Lane::bytes).max().orElse(0);
        long shortest = least;
        while (shortest < longest && blocks(program, shortest) > blocks) {
            shortest += Math.ceilDiv(shortest, LONGER);
        }
        long best = shortest;
        double most = evenness(program, best);
        for (long part = shortest; part < Math.min(longest, 2 * shortest); part += Math.ceilDiv(shortest, LONGER)) {
            double evenness = evenness(program, part);
            if (evenness > most * EVENER) {
                best = part;
                most = evenness;
            }
        }
        return best;
    }

    /** Returns the blocks of the rank that needs most, if each part of a lane has blocks of its own. */
    private static long blocks(DeviceProgram program, long part) {
        long[] blocks = new long[program.schedule().ranks()];
        for (Lane lane : program.lanes()) {
            long parts = Math.ceilDiv(lane.bytes(), part);
            for (Move move : lane.moves()) {
                blocks[move.rank()] += parts;
            }
        }
        return Arrays.stream(blocks).max().orElse(0);
    }

    /** Returns the length of the shortest part by that of the longest one. */
    private static double evenness(DeviceProgram program, long part) {
        double shortest = Double.POSITIVE_INFINITY;
        double longest = 0;
        for (Lane lane : program.lanes()) {
            double length = (double) lane.bytes() / Math.ceilDiv(lane.bytes(), part);
            shortest = Math.min(shortest, length);
            longest = Math.max(longest, length);
        }
        return shortest / longest;
    }

    /**
     * Returns whether no block takes lines twice, so that its slots need not be free before the second time. If the
     * launch before {@linkplain DeviceProgram#synchronizes synchronizes}, and launches take turns between two sets of
     * slots, then all slots are free when the launch begins, and no sender has to wait for its receiver.
     */
    public boolean takesLinesOnce() {
        return lowLatency
                && grid.blocks().stream()
                        .flatMap(List::stream)
                        .allMatch(block -> block.stream().filter(this::receives).count() <= 1);
    }

    private boolean receives(Grid.Loop loop) {
        return program.lanes().get(loop.lane()).channels().stream()
                .anyMatch(channel -> channel.to() == loop.move() && channel.kind() == Channel.Kind.SLOTS);
    }

    /** Returns the bytes of each slice of a lane but the last; of a lane in lines, all of it. */
    public long sliceBytes(Lane lane) {
        return lowLatency ? lane.bytes() : sizes.sliceOf(lane.bytes());
    }

    /** Returns the number of slices of a lane. */
    public int slices(Lane lane) {
        return Math.toIntExact(Math.ceilDiv(lane.bytes(), sliceBytes(lane)));
    }

    /**
     * Returns the threads of a block that move data: one for each 16 bytes of a slice, or 8 bytes of lines, up to 512.
     */
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
