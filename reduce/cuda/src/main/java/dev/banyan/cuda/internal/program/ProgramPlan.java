package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DriverFunction;
import dev.banyan.cuda.internal.memory.BufferAccess;
import dev.banyan.cuda.internal.memory.TableBlocks;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.internal.ptx.ProgramLoop;
import dev.banyan.cuda.internal.ptx.ProgramStatus;
import dev.banyan.schedule.internal.program.Channel;
import dev.banyan.schedule.internal.program.DeviceProgram;
import dev.banyan.schedule.internal.program.Lane;
import java.util.List;
import java.util.Map;

/**
 * A device program in the memory of its devices.
 *
 * @param name of the collective and the algorithm, for messages
 * @param program what it does
 * @param loops every loop, by its {@linkplain ProgramLoop#id() id}
 * @param parts what each device has of it, by the order in which devices first appear among the ranks
 * @param kernel what runs it
 * @param usesScratch whether it keeps partial results in memory that all plans share
 * @param uses of buffers, and the end of what is touched in bytes from a buffer's begin
 * @param threads of a block
 * @param values by how much a launch lets flags grow
 * @param takesLinesOnce whether all its slots may be known to be free, see {@link
 *     dev.banyan.schedule.internal.program.ProgramLayout#takesLinesOnce}
 */
public record ProgramPlan(
        String name,
        DeviceProgram program,
        List<LoopPlace> loops,
        List<Part> parts,
        Kernel.Program kernel,
        boolean usesScratch,
        Map<BufferAccess.Use, Long> uses,
        int threads,
        long values,
        boolean takesLinesOnce)
        implements LaunchPlan {
    /**
     * The place of a loop.
     *
     * @param lane of the program
     * @param move of the lane
     */
    record LoopPlace(int rank, int lane, int move) {}

    /**
     * The part of one device.
     *
     * @param device the device
     * @param table its table
     * @param blocks of all of its ranks; 0 if it has nothing to do
     * @param function the kernel on this device
     */
    public record Part(CudaDevice device, TableBlocks.Block table, int blocks, DriverFunction function) {}

    @Override
    public Addresses addresses(BufferAccess access, long[] inputs, long[] outputs) {
        return new Addresses(inputs, outputs);
    }

    @Override
    public boolean isEmpty() {
        return program.lanes().isEmpty();
    }

    @Override
    public boolean synchronizes() {
        return program.synchronizes();
    }

    @Override
    public String describe(ProgramStatus status) {
        LoopPlace place = loops.get(status.loop());
        Lane lane = program.lanes().get(place.lane());
        Channel channel = lane.channels().get(status.channel());
        boolean receives = channel.to() == place.move();
        int other = receives ? lane.sender(channel) : lane.receiver(channel);
        return (receives ? "data from rank " : "a slot of rank ") + other + " at rank " + place.rank() + ", slice "
                + status.slice() + " of step " + lane.moves().get(place.move()).step();
    }
}
