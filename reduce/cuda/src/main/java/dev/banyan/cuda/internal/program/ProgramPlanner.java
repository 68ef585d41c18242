package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import dev.banyan.cuda.internal.driver.DriverObjects;
import dev.banyan.cuda.internal.memory.Blocks;
import dev.banyan.cuda.internal.memory.BufferAccess;
import dev.banyan.cuda.internal.memory.CopyLane;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.internal.memory.TableBlocks;
import dev.banyan.cuda.internal.peer.PeerAccess;
import dev.banyan.cuda.internal.ptx.Element;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.internal.ptx.ProgramLoop;
import dev.banyan.cuda.internal.ptx.ProgramTable;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
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
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Makes plans of schedules as device programs, verifies them, and puts their tables into the memory of devices. Safe
 * for use from any thread.
 */
public final class ProgramPlanner {
    private final Ranks ranks;
    private final List<CudaDevice> devices;
    private final Map<CudaDevice, CopyLane> lanes;
    private final PeerAccess peers;
    private final ProgramSizes sizes;
    private final ProgramMemory memory;
    private final TableBlocks tables = new TableBlocks();
    private final Map<CudaDevice, Blocks> scratch = new HashMap<>();
    private final Map<CudaDevice, Long> doneCounters = new HashMap<>();
    private final List<DriverObjects> objects = new ArrayList<>();

    /**
     * @param lanes copies to each device, in the order in which devices first appear among this process's ranks
     * @param memory for flags and slots
     */
    public ProgramPlanner(
            Ranks ranks, Map<CudaDevice, CopyLane> lanes, PeerAccess peers, ProgramSizes sizes, ProgramMemory memory) {
        this.ranks = ranks;
        this.lanes = lanes;
        this.peers = peers;
        this.sizes = sizes;
        devices = List.copyOf(lanes.keySet());
        this.memory = memory;
    }

    /**
     * Makes a plan.
     *
     * @throws NoProgramException if the schedule cannot run as a program on these devices
     */
    public synchronized ProgramPlan plan(Schedule schedule, DataType type, ReduceOp op) throws NoProgramException {
        boolean mean = op == ReduceOp.AVG && schedule.collective().reduces() && schedule.ranks() > 1;
        if (schedule.ranks() > Kernel.Program.MOST_RANKS) {
            throw new NoProgramException(schedule.ranks() + " ranks are more than " + Kernel.Program.MOST_RANKS);
        }
        if (mean && !type.isFloating()) {
            throw new NoProgramException("means of integers need wide sums");
        }
        Kernel.Program kernel = new Kernel.Program(op == ReduceOp.AVG ? ReduceOp.SUM : op, Element.of(type));
        return new Maker(schedule, type, mean, kernel).plan();
    }

    /** Takes back what a plan has alone; nothing of it runs. */
    synchronized void close(ProgramPlan plan) {
        plan.parts().forEach(part -> tables.give(part.table()));
    }

    /**
     * Frees everything; nothing runs.
     *
     * @return results of the driver
     */
    public synchronized List<Integer> free(boolean sound) {
        List<Integer> results = new ArrayList<>(tables.free());
        objects.forEach(one -> results.addAll(one.free()));
        scratch.values().forEach(blocks -> blocks.free(sound));
        return results;
    }

    private long doneCounter(CudaDevice device) {
        return doneCounters.computeIfAbsent(device, _ -> {
            DriverObjects own = new DriverObjects(device);
            objects.add(own);
            DeviceAddress word = own.memory(4);
            CopyLane.of(device, lanes).clear(word, 4);
            return word.value();
        });
    }

    /** Makes one plan. */
    private final class Maker {
        private final Schedule schedule;
        private final int elementBytes;
        private final boolean mean;
        private final Kernel.Program kernel;
        private final List<ProgramPlan.LoopPlace> places = new ArrayList<>();
        private @Nullable Map<CudaDevice, Long> scratchOf;
        /** The number of blocks of a rank that run at once. */
        private int mostBlocks;

        Maker(Schedule schedule, DataType type, boolean mean, Kernel.Program kernel) {
            this.schedule = schedule;
            this.mean = mean;
            this.kernel = kernel;
            elementBytes = type.bytes();
        }

        ProgramPlan plan() throws NoProgramException {
            ProgramLayout layout = layout(sizes);
            int threads = layout.workers() + Kernel.Program.POSTING_THREADS;
            mostBlocks = blocksOfRank();
            if (layout.grid().widest() > mostBlocks) {
                layout = layout(sizes.withBlocks(mostBlocks));
            }
            DeviceProgram program = layout.program();
            if (mean && !program.takesMeans()) {
                throw new NoProgramException("its result has no last reduction of its own");
            }
            checkPeers(program);
            layout.verify();
            long[] offsets = new long[program.lanes().size()];
            long values = 0;
            for (int l = 0; l < offsets.length; l++) {
                offsets[l] = values;
                values += layout.slices(program.lanes().get(l)) + 1L;
            }
            List<ProgramPlan.Part> parts = new Tables(layout, offsets).parts();
            return new ProgramPlan(
                    schedule.collective().label() + " by " + schedule.algorithm(),
                    program,
                    List.copyOf(places),
                    parts,
                    kernel,
                    scratchOf != null,
                    uses(program),
                    threads,
                    values,
                    layout.takesLinesOnce());
        }

        private ProgramLayout layout(ProgramSizes limits) throws NoProgramException {
            try {
                return ProgramLayout.of(schedule, limits);
            } catch (IllegalArgumentException e) {
                throw new NoProgramException(String.valueOf(e.getMessage()));
            }
        }

        private void checkPeers(DeviceProgram program) throws NoProgramException {
            for (Lane lane : program.lanes()) {
                for (Channel channel : lane.channels()) {
                    int from = lane.sender(channel);
                    int to = lane.receiver(channel);
                    if (!peers.reaches(from, to) || !peers.reaches(to, from)) {
                        throw new NoProgramException(
                                "the devices of ranks " + from + " and " + to + " do not reach each other's memory");
                    }
                }
            }
        }

        /**
         * Returns the number of blocks of each rank that run at once on any device, with as many threads as other
         * programs of one launch may want.
         */
        private int blocksOfRank() throws NoProgramException {
            int threads = Kernel.Program.MOST_WORKERS + Kernel.Program.POSTING_THREADS;
            int most = sizes.blocks();
            // The devices of other processes are taken to be like these; their plans differ otherwise.
            for (CudaDevice device : devices) {
                most = Math.min(most, device.residentBlocks(kernel, threads) / ranks.mostRanksOfADevice());
            }
            if (most < 1) {
                throw new NoProgramException("not even one block of " + threads + " threads of each rank would run");
            }
            return most;
        }

        /** The end of what is touched of each buffer. */
        private Map<BufferAccess.Use, Long> uses(DeviceProgram program) {
            Map<BufferAccess.Use, Long> uses = new LinkedHashMap<>();
            for (Lane lane : program.lanes()) {
                for (Move move : lane.moves()) {
                    if (!ranks.holds(move.rank())) {
                        continue;
                    }
                    Stream.concat(move.inputs().stream(), move.outputs().stream())
                            .forEach(operand -> {
                                if (operand instanceof Local(Location location)) {
                                    add(uses, location, move.rank(), lane.bytes());
                                }
                            });
                }
            }
            return uses;
        }

        private void add(Map<BufferAccess.Use, Long> uses, Location location, int toucher, long bytes) {
            if (location.space() != Space.SCRATCH) {
                uses.merge(
                        new BufferAccess.Use(location.space(), location.rank(), ranks.get(toucher)),
                        location.offset() + bytes,
                        Math::max);
            }
        }

        private long scratchOf(int rank) {
            Map<CudaDevice, Long> known = scratchOf;
            if (known == null) {
                known = new HashMap<>();
                for (CudaDevice device : devices) {
                    long sharing = ranks.held().stream().filter(device::equals).count();
                    known.put(
                            device,
                            scratch.computeIfAbsent(device, Blocks::new).take(sharing * schedule.scratchBytes()));
                }
                scratchOf = known;
            }
            CudaDevice device = ranks.get(rank);
            long before = ranks.held().subList(0, rank - ranks.first()).stream()
                    .filter(device::equals)
                    .count();
            return known.getOrDefault(device, 0L) + before * schedule.scratchBytes();
        }

        /** Makes the tables of one plan. */
        private final class Tables {
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

            Tables(ProgramLayout layout, long[] offsets) throws NoProgramException {
                this.layout = layout;
                this.offsets = offsets;
                program = layout.program();
                lowLatency = layout.lowLatency();
                blockOf = layout.grid().blockOf(program);
                for (int l = 0; l < blockOf.length; l++) {
                    for (int m = 0; m < blockOf[l].length; m++) {
                        blockOf[l][m] += blocksBefore(
                                program.lanes().get(l).moves().get(m).rank());
                    }
                }
                bytesOfABlock = slotsOfABlock();
                for (int place = 0; place < ranks.places(); place++) {
                    slots.add(
                            bytesOfABlock == 0
                                    ? List.of()
                                    : memory.slots(place, form(), bytesOfABlock, blocksOf(place)));
                }
                makeFlags();
                memory.share(kind());
            }

            /** Says what the plan depends on, which is the same in all processes. */
            private String kind() {
                return schedule.collective().label() + " by " + schedule.algorithm() + " of "
                        + schedule.count() + " x "
                        + elementBytes + " bytes, " + kernel.name() + (mean ? ", mean" : "") + ", root "
                        + schedule.root() + (schedule.inPlace() ? ", in place" : "") + ", "
                        + mostBlocks + " blocks";
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

            List<ProgramPlan.Part> parts() throws NoProgramException {
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
                List<ProgramPlan.Part> parts = new ArrayList<>();
                blocks.forEach((device, ofDevice) -> parts.add(part(device, new ProgramTable(ofDevice))));
                return parts;
            }

            private ProgramPlan.Part part(CudaDevice device, ProgramTable table) {
                TableBlocks.Block block = tables.take(device, table.bytes());
                long address = block.address().value();
                ByteBuffer bytes = table.at(address, doneCounter(device));
                CopyLane.of(device, lanes).write(address, MemorySegment.ofBuffer(bytes));
                return new ProgramPlan.Part(device, block, table.blocks().size(), device.function(kernel));
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
                    throw new NoProgramException(
                            "step " + move.step() + " of rank " + rank + " touches too many others");
                }
                long elements = lane.bytes() / elementBytes;
                long perSlice = Math.ceilDiv(layout.sliceBytes(lane), 16L) * 16 / elementBytes;
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
                        mean && move.completes() ? schedule.ranks() : 1,
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

            private void receive(
                    int l, int c, CudaDevice viewer, List<ProgramLoop.Wait> waits, List<ProgramLoop.Post> posts) {
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

            private void send(
                    int l, int c, CudaDevice viewer, List<ProgramLoop.Wait> waits, List<ProgramLoop.Post> posts) {
                Channel channel = program.lanes().get(l).channels().get(c);
                if (channel.kind() != Channel.Kind.ORDER) {
                    waits.add(new ProgramLoop.Wait(
                            address(creditFlag(l, c), viewer),
                            lowLatency ? ProgramLoop.Wait.READINESS : sizes.slots(),
                            c));
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
                                region + (long) number * slotBytes(lane),
                                Math.toIntExact(bytesOfABlock / 2),
                                1,
                                form(),
                                c)
                        : ProgramLoop.Place.slots(
                                region + number * channelBytes(lane), slotBytes(lane), slots(), form(), c);
            }

            private ProgramLoop.Place local(Location location) {
                return location.space() == Space.SCRATCH
                        ? ProgramLoop.Place.linear(ProgramLoop.ABSOLUTE, scratchOf(location.rank()) + location.offset())
                        : ProgramLoop.Place.linear(
                                location.space() == Space.INPUT
                                        ? location.rank()
                                        : Kernel.Program.MOST_RANKS + location.rank(),
                                location.offset());
            }
        }
    }
}
