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
     * @param parts into how many lanes a range of bytes is cut that takes the same way, at least 1; lanes of one way can
     *     be in different blocks
     * @param direct whether senders store into buffers of receivers where they can, instead of slots
     */
    public static DeviceProgram compile(Schedule schedule, int parts, boolean direct) {
        if (parts < 1) {
            throw new IllegalArgumentException("a schedule in " + parts + " parts; it takes at least 1");
        }
        List<Lane> lanes = new ArrayList<>();
        boolean takesMeans = schedule.collective().reduces();
        for (Chunk joined : ChunkJoin.joined(schedule)) {
            for (Chunk part : ChunkJoin.cut(joined, parts, ProgramSizes.UNIT)) {
                LaneCompiler compiler = new LaneCompiler(schedule, part, direct);
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
