package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.memory.BufferAccess;
import dev.banyan.cuda.internal.memory.CopyLane;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.internal.peer.ProgramReach;
import dev.banyan.cuda.internal.ptx.Element;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.internal.ptx.ProgramTable;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.internal.program.Channel;
import dev.banyan.schedule.internal.program.DeviceProgram;
import dev.banyan.schedule.internal.program.Lane;
import dev.banyan.schedule.internal.program.Move;
import dev.banyan.schedule.internal.program.Operand.Local;
import dev.banyan.schedule.internal.program.ProgramLayout;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
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
    private final ProgramReach peers;
    private final ProgramSizes sizes;
    private final ProgramMemory memory;
    private final DeviceTables tables;

    /**
     * @param lanes copies to each device, in the order in which devices first appear among this process's ranks
     * @param memory for flags and slots
     */
    public ProgramPlanner(
            Ranks ranks,
            Map<CudaDevice, CopyLane> lanes,
            ProgramReach peers,
            ProgramSizes sizes,
            ProgramMemory memory) {
        this.ranks = ranks;
        tables = new DeviceTables(lanes);
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
        return new Maker(new PlanRequest(schedule, type.bytes(), mean, kernel)).plan();
    }

    /** Takes back what a plan has alone; nothing of it runs. */
    public synchronized void close(ProgramPlan plan) {
        plan.parts().forEach(tables::give);
    }

    /**
     * Frees everything; nothing runs.
     *
     * @return results of the driver
     */
    public synchronized List<Integer> free(boolean sound) {
        return tables.free(sound);
    }

    /** Makes one plan. */
    private final class Maker {
        private final PlanRequest request;
        private final Schedule schedule;
        private final Kernel.Program kernel;
        private @Nullable Map<CudaDevice, Long> scratchOf;

        Maker(PlanRequest request) {
            this.request = request;
            schedule = request.schedule();
            kernel = request.kernel();
        }

        ProgramPlan plan() throws NoProgramException {
            ProgramLayout layout = layout(sizes);
            int threads = layout.workers() + Kernel.Program.POSTING_THREADS;
            int mostBlocks = blocksOfRank();
            if (layout.grid().widest() > mostBlocks) {
                layout = layout(sizes.withBlocks(mostBlocks));
            }
            DeviceProgram program = layout.program();
            if (request.mean() && !program.takesMeans()) {
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
            PlanLoops loops = new PlanLoops(ranks, memory, sizes, request, layout, offsets, this::scratchOf);
            memory.share(request.kind(mostBlocks));
            List<ProgramPlan.Part> parts = new ArrayList<>();
            loops.of(devices).forEach((device, blocks) -> {
                ProgramTable table = new ProgramTable(blocks);
                parts.add(tables.part(device, table.bytes(), blocks.size(), table::at, device.function(kernel)));
            });
            return new ProgramPlan(
                    schedule.collective().label() + " by " + schedule.algorithm(),
                    program,
                    loops.places(),
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
                                "kernels of ranks " + from + " and " + to + " do not store to each other's memory");
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
                    known.put(device, tables.scratch(device, sharing * schedule.scratchBytes()));
                }
                scratchOf = known;
            }
            CudaDevice device = ranks.get(rank);
            long before = ranks.held().subList(0, rank - ranks.first()).stream()
                    .filter(device::equals)
                    .count();
            return known.getOrDefault(device, 0L) + before * schedule.scratchBytes();
        }
    }
}
