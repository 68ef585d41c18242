package dev.banyan.schedule.internal.program;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.ChunkJoin;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Step;
import java.util.ArrayList;
import java.util.List;

/** Makes device programs of schedules. */
public final class ProgramCompiler {
    private ProgramCompiler() {}

    /**
     * Compiles a schedule. O(s s/64 + m) for chunks of s steps, and m locations of the schedule.
     *
     * @param schedule a schedule that {@link dev.banyan.schedule.ScheduleVerifier} has proved
     * @param most greatest length of a lane in bytes, up to rounding; longer ranges of bytes that take the same way are
     *     cut into lanes of about equal length, which can be in different blocks
     */
    public static DeviceProgram compile(Schedule schedule, long most) {
        if (most < 1) {
            throw new IllegalArgumentException("lanes of at most " + most + " bytes; it takes at least 1");
        }
        List<Lane> lanes = new ArrayList<>();
        boolean takesMeans = schedule.collective().reduces();
        for (Chunk joined : ChunkJoin.joined(schedule.chunks())) {
            for (Chunk part : cut(joined, most)) {
                LaneCompiler compiler = new LaneCompiler(schedule, part);
                Lane lane = compiler.lane();
                takesMeans &= compiler.takesMeans();
                if (lane != null) {
                    lanes.add(lane);
                }
            }
        }
        return new DeviceProgram(schedule, lanes, takesMeans);
    }

    /** Returns a chunk in as few about equal parts as there can be; each but the last is a multiple of a unit. */
    private static List<Chunk> cut(Chunk chunk, long most) {
        long parts = Math.max(1, Math.ceilDiv(chunk.bytes(), most));
        long length = Math.ceilDiv(Math.ceilDiv(chunk.bytes(), parts), ProgramSizes.UNIT) * ProgramSizes.UNIT;
        List<Chunk> cut = new ArrayList<>();
        for (long start = 0; start < chunk.bytes(); start += length) {
            cut.add(new Chunk(Math.min(length, chunk.bytes() - start), shifted(chunk.steps(), start)));
        }
        return cut;
    }

    private static List<Step> shifted(List<Step> steps, long bytes) {
        return steps.stream()
                .map(step -> new Step(
                        step.sources().stream()
                                .map(source -> shifted(source, bytes))
                                .toList(),
                        shifted(step.target(), bytes),
                        step.after()))
                .toList();
    }

    private static Location shifted(Location location, long bytes) {
        return new Location(location.rank(), location.space(), location.offset() + bytes);
    }
}
