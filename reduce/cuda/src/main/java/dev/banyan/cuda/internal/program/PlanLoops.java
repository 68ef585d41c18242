package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.internal.ptx.ProgramLoop;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.internal.program.Channel;
import dev.banyan.schedule.internal.program.DeviceProgram;
import dev.banyan.schedule.internal.program.Grid;
import dev.banyan.schedule.internal.program.Lane;
import dev.banyan.schedule.internal.program.Move;
import dev.banyan.schedule.internal.program.Operand.Local;
import dev.banyan.schedule.internal.program.Operand.Via;
import dev.banyan.schedule.internal.program.ProgramLayout;
import dev.banyan.schedule.internal.program.ProgramSizes;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntToLongFunction;

/**
 * Makes the loops of one plan: for each move, the flags that a block waits for and posts, and the places of its data.
 */
final class PlanLoops {
    private final Ranks ranks;
    private final ProgramMemory memory;
    private final ProgramSizes sizes;
    private final PlanRequest request;
    private final IntToLongFunction scratch;
    private final List<ProgramPlan.LoopPlace> places = new ArrayList<>();
    private final DeviceProgram program;
    private final ProgramLayout layout;
    private final boolean lowLatency;
    private final long[] offsets;
    /** The block of each move of each lane, counted over all ranks of its device. */
    private final int[][] blockOf;
    /** For each place, the slots of its blocks. */
    private final List<List<ProgramMemory.Spot>> slots = new ArrayList<>();
    /** Bytes of the slots of a block, half of which is a set of slots for lines. */
    private final long bytesOfABlock;

    /**
     * Makes the flags and takes the slots of a plan.
     *
     * @param memory for flags and slots
     * @param sizes by which the program was cut
     * @param offsets the first value of the flags of each lane
     * @param scratch the address of each rank's scratch memory
     */
    PlanLoops(
            Ranks ranks,
            ProgramMemory memory,
            ProgramSizes sizes,
            PlanRequest request,
            ProgramLayout layout,
            long[] offsets,
            IntToLongFunction scratch)
            throws NoProgramException {
        this.ranks = ranks;
        this.memory = memory;
        this.sizes = sizes;
        this.request = request;
        this.scratch = scratch;
        this.layout = layout;
        this.offsets = offsets;
        program = layout.program();
        lowLatency = layout.lowLatency();
        blockOf = layout.grid().blockOf(program);
        for (int l = 0; l < blockOf.length; l++) {
            for (int m = 0; m < blockOf[l].length; m++) {
                blockOf[l][m] +=
                        blocksBefore(program.lanes().get(l).moves().get(m).rank());
            }
        }
        bytesOfABlock = slotsOfABlock();
        for (int place = 0; place < ranks.places(); place++) {
            slots.add(bytesOfABlock == 0 ? List.of() : memory.slots(place, form(), bytesOfABlock, blocksOf(place)));
        }
        makeFlags();
    }

    /** Makes all flags, those of other processes too, so that all processes make the same ones. */
    private void makeFlags() {
        for (int l = 0; l < program.lanes().size(); l++) {
            List<Channel> channels = program.lanes().get(l).channels();
            for (int c = 0; c < channels.size(); c++) {
                boolean orders = channels.get(c).kind() == Channel.Kind.ORDER;
                if (orders || !lowLatency) {
                    var _ = memory.flag(dataFlag(l, c));
                }
                if (!orders) {
                    var _ = memory.flag(creditFlag(l, c));
                }
            }
        }
    }

    /** Blocks of the ranks before that are on the same device. */
    private int blocksBefore(int rank) {
        int blocks = 0;
        for (int other = 0; other < rank; other++) {
            if (ranks.place(other) == ranks.place(rank)) {
                blocks += layout.grid().blocks().get(other).size();
            }
        }
        return blocks;
    }

    private int blocksOf(int place) {
        int blocks = 0;
        for (int rank = 0; rank < ranks.size(); rank++) {
            if (ranks.place(rank) == place) {
                blocks += layout.grid().blocks().get(rank).size();
            }
        }
        return blocks;
    }

    /** The most bytes of slots that a block needs, as a power of two so that programs can share them. */
    private long slotsOfABlock() {
        long most = 0;
        for (Lane lane : program.lanes()) {
            for (int m = 0; m < lane.moves().size(); m++) {
                most = Math.max(most, incoming(lane, m).size() * channelBytes(lane));
            }
        }
        return most <= 1 ? most : Long.highestOneBit(most - 1) << 1;
    }

    private ProgramLoop.Form form() {
        return lowLatency ? ProgramLoop.Form.LINES : ProgramLoop.Form.PLAIN;
    }

    private int slotBytes(Lane lane) {
        long bytes = layout.sliceBytes(lane);
        return Math.toIntExact(lowLatency ? 16 * Math.ceilDiv(bytes, 8L) : bytes);
    }

    /** Lines are in one slice, and launches take turns between two sets of slots. */
    private int slots() {
        return lowLatency ? 2 : sizes.slots();
    }

    private long channelBytes(Lane lane) {
        return (long) slotBytes(lane) * slots();
    }

    /**
     * Makes the loops of this process's devices.
     *
     * @param devices in the order of the result
     * @return the loops of each block of each device
     * @throws NoProgramException if a loop has more waits, places or posts than a kernel takes
     */
    Map<CudaDevice, List<List<ProgramLoop>>> of(List<CudaDevice> devices) throws NoProgramException {
        Map<CudaDevice, List<List<ProgramLoop>>> blocks = new LinkedHashMap<>();
        devices.forEach(device -> blocks.put(device, new ArrayList<>()));
        for (int rank = ranks.first(); ranks.holds(rank); rank++) {
            for (int block = 0; block < layout.grid().blocks().get(rank).size(); block++) {
                List<ProgramLoop> loops = new ArrayList<>();
                for (Grid.Loop loop : layout.grid().blocks().get(rank).get(block)) {
                    loops.add(loop(rank, loop.lane(), loop.move()));
                }
                blocks.getOrDefault(ranks.get(rank), List.of()).add(loops);
            }
        }
        return blocks;
    }

    /** Returns the place of each loop that was made, by its id. */
    List<ProgramPlan.LoopPlace> places() {
        return List.copyOf(places);
    }

    private ProgramLoop loop(int rank, int l, int m) throws NoProgramException {
        Lane lane = program.lanes().get(l);
        Move move = lane.moves().get(m);
        CudaDevice viewer = ranks.get(rank);
        places.add(new ProgramPlan.LoopPlace(rank, l, m));
        List<ProgramLoop.Wait> waits = new ArrayList<>();
        List<ProgramLoop.Post> posts = new ArrayList<>();
        for (int c : incoming(lane, m)) {
            receive(l, c, viewer, waits, posts);
        }
        for (int c = 0; c < lane.channels().size(); c++) {
            if (lane.channels().get(c).from() == m) {
                send(l, c, viewer, waits, posts);
            }
        }
        List<ProgramLoop.Place> inputs = new ArrayList<>();
        for (var input : move.inputs()) {
            inputs.add(
                    switch (input) {
                        case Local(Location location) -> local(location);
                        case Via(int channel) -> slotsOf(l, channel, viewer);
                    });
        }
        List<ProgramLoop.Place> outputs = new ArrayList<>();
        for (var output : move.outputs()) {
            outputs.add(
                    switch (output) {
                        case Local(Location location) -> local(location);
                        case Via(int channel) -> slotsOf(l, channel, viewer);
                    });
        }
        if (waits.size() > ProgramLoop.MOST_WAITS
                || posts.size() > ProgramLoop.MOST_POSTS
                || inputs.size() > ProgramLoop.MOST_INPUTS
                || outputs.size() > ProgramLoop.MOST_OUTPUTS) {
            throw new NoProgramException("step " + move.step() + " of rank " + rank + " touches too many others");
        }
        long elements = lane.bytes() / request.elementBytes();
        long perSlice = Math.ceilDiv(layout.sliceBytes(lane), 16L) * 16 / request.elementBytes();
        int slices = layout.slices(lane);
        return new ProgramLoop(
                slices,
                (int) perSlice,
                (int) (elements - (slices - 1) * perSlice),
                waits,
                inputs,
                outputs,
                posts,
                offsets[l],
                request.mean() && move.completes() ? request.schedule().ranks() : 1,
                places.size() - 1,
                lowLatency ? ProgramLoop.Protocol.LOW_LATENCY : ProgramLoop.Protocol.BULK);
    }

    /** The channels to a move. */
    private static List<Integer> incoming(Lane lane, int move) {
        List<Integer> incoming = new ArrayList<>();
        for (int c = 0; c < lane.channels().size(); c++) {
            if (lane.channels().get(c).to() == move) {
                incoming.add(c);
            }
        }
        return incoming;
    }

    private long address(ProgramMemory.Flag flag, CudaDevice viewer) {
        return memory.address(memory.flag(flag), viewer);
    }

    private void receive(int l, int c, CudaDevice viewer, List<ProgramLoop.Wait> waits, List<ProgramLoop.Post> posts) {
        Lane lane = program.lanes().get(l);
        Channel channel = lane.channels().get(c);
        if (channel.kind() == Channel.Kind.ORDER) {
            waits.add(new ProgramLoop.Wait(address(dataFlag(l, c), viewer), 0, c));
            return;
        }
        if (lowLatency) {
            posts.add(new ProgramLoop.Post(address(creditFlag(l, c), viewer), ProgramLoop.PostKind.WHEN_READY));
            return;
        }
        waits.add(new ProgramLoop.Wait(address(dataFlag(l, c), viewer), 0, c));
        posts.add(new ProgramLoop.Post(
                address(creditFlag(l, c), viewer), ProgramLoop.PostKind.WHEN_READY_AND_AFTER_SLICES));
    }

    private void send(int l, int c, CudaDevice viewer, List<ProgramLoop.Wait> waits, List<ProgramLoop.Post> posts) {
        Channel channel = program.lanes().get(l).channels().get(c);
        if (channel.kind() != Channel.Kind.ORDER) {
            waits.add(new ProgramLoop.Wait(
                    address(creditFlag(l, c), viewer), lowLatency ? ProgramLoop.Wait.READINESS : sizes.slots(), c));
        }
        if (channel.kind() == Channel.Kind.ORDER || !lowLatency) {
            posts.add(new ProgramLoop.Post(address(dataFlag(l, c), viewer), ProgramLoop.PostKind.AFTER_SLICES));
        }
    }

    private ProgramMemory.Flag dataFlag(int l, int c) {
        Lane lane = program.lanes().get(l);
        Channel channel = lane.channels().get(c);
        int rank = lane.receiver(channel);
        int block = blockOf[l][channel.to()];
        int input = incoming(lane, channel.to()).indexOf(c);
        return channel.kind() == Channel.Kind.ORDER
                ? new ProgramMemory.Flag.Order(rank, blockOf[l][channel.from()], block, input)
                : new ProgramMemory.Flag.Data(rank, block, input);
    }

    private ProgramMemory.Flag creditFlag(int l, int c) {
        Lane lane = program.lanes().get(l);
        Channel channel = lane.channels().get(c);
        return new ProgramMemory.Flag.Credit(
                lane.sender(channel),
                lane.receiver(channel),
                blockOf[l][channel.to()],
                incoming(lane, channel.to()).indexOf(c));
    }

    /** The slots of a channel; of lines, those of the first set. */
    private ProgramLoop.Place slotsOf(int l, int c, CudaDevice viewer) {
        Lane lane = program.lanes().get(l);
        Channel channel = lane.channels().get(c);
        int number = incoming(lane, channel.to()).indexOf(c);
        List<ProgramMemory.Spot> regions = slots.get(ranks.place(lane.receiver(channel)));
        long region = memory.address(regions.get(blockOf[l][channel.to()]), viewer);
        // The sets are the halves of the block's slots: plans whose lines are of other lengths share these.
        return lowLatency
                ? ProgramLoop.Place.slots(
                        region + (long) number * slotBytes(lane), Math.toIntExact(bytesOfABlock / 2), 1, form(), c)
                : ProgramLoop.Place.slots(region + number * channelBytes(lane), slotBytes(lane), slots(), form(), c);
    }

    private ProgramLoop.Place local(Location location) {
        return location.space() == Space.SCRATCH
                ? ProgramLoop.Place.linear(
                        ProgramLoop.ABSOLUTE, scratch.applyAsLong(location.rank()) + location.offset())
                : ProgramLoop.Place.linear(
                        location.space() == Space.INPUT ? location.rank() : Kernel.Program.MOST_RANKS + location.rank(),
                        location.offset());
    }
}
