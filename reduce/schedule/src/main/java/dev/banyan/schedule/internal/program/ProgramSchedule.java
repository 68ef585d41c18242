package dev.banyan.schedule.internal.program;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.Step;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes a schedule of what a program does: slots become scratch memory, and each store of a move a step. So the proof
 * of a schedule is a proof of the program, but for slots that are used again.
 */
final class ProgramSchedule {
    private final DeviceProgram program;
    private long scratch;

    private ProgramSchedule(DeviceProgram program) {
        this.program = program;
        scratch = program.schedule().scratchBytes();
    }

    static Schedule of(DeviceProgram program) {
        ProgramSchedule made = new ProgramSchedule(program);
        List<Chunk> chunks = program.lanes().stream().map(made::chunk).toList();
        return of(program.schedule(), made.scratch, chunks);
    }

    /** Returns a schedule of the same collective with other chunks. */
    static Schedule of(Schedule schedule, long scratchBytes, List<Chunk> chunks) {
        return new Schedule(
                schedule.algorithm(),
                schedule.collective(),
                schedule.ranks(),
                schedule.root(),
                schedule.count(),
                schedule.elementBytes(),
                schedule.inPlace(),
                scratchBytes,
                chunks);
    }

    private Chunk chunk(Lane lane) {
        List<Location> slots = new ArrayList<>();
        for (Channel channel : lane.channels()) {
            slots.add(place(lane, channel));
        }
        List<Step> steps = new ArrayList<>();
        List<List<Integer>> stepsOf = new ArrayList<>();
        for (int m = 0; m < lane.moves().size(); m++) {
            List<Integer> after = new ArrayList<>();
            for (Channel channel : lane.channels()) {
                if (channel.to() == m) {
                    after.addAll(stepsOf.get(channel.from()));
                }
            }
            stepsOf.add(add(lane.moves().get(m), slots, after, steps));
        }
        return new Chunk(lane.bytes(), steps);
    }

    /** Adds a move's steps, of which each begins when those of other moves have ended; the last one is done last. */
    private List<Integer> add(Move move, List<Location> slots, List<Integer> after, List<Step> steps) {
        if (move.inputs().isEmpty()) {
            return List.copyOf(after);
        }
        List<Location> sources =
                move.inputs().stream().map(input -> location(input, slots)).toList();
        List<Integer> own = new ArrayList<>();
        for (Operand output : move.outputs()) {
            // A move loads before it stores, so that the one output that can be an input too comes last.
            List<Integer> before = new ArrayList<>(after);
            if (output instanceof Operand.Local) {
                before.addAll(own);
            }
            steps.add(new Step(sources, location(output, slots), before));
            own.add(steps.size() - 1);
        }
        return own;
    }

    private Location location(Operand operand, List<Location> slots) {
        return switch (operand) {
            case Operand.Local(Location location) -> named(location);
            case Operand.Via(int channel) -> slots.get(channel);
        };
    }

    /** In place, a program knows one buffer of a rank; returns a location in that one of the two that is all of it. */
    private Location named(Location location) {
        Schedule schedule = program.schedule();
        return schedule.inPlace()
                        && location.space() == Space.OUTPUT
                        && schedule.collective().reduces()
                ? new Location(location.rank(), Space.INPUT, location.offset())
                : location;
    }

    private Location place(Lane lane, Channel channel) {
        long start = scratch;
        if (channel.kind() == Channel.Kind.SLOTS) {
            int unit = program.schedule().elementBytes();
            scratch = Math.ceilDiv(start, (long) unit) * unit + lane.bytes();
            start = scratch - lane.bytes();
        }
        return new Location(lane.receiver(channel), Space.SCRATCH, start);
    }
}
