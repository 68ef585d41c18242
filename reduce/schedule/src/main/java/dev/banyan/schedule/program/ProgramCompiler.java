package dev.banyan.schedule.program;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Schedule;
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
        for (Chunk joined : ChunkJoin.joined(schedule)) {
            for (Chunk part : ChunkJoin.cut(joined, most, ProgramSizes.UNIT)) {
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
}
