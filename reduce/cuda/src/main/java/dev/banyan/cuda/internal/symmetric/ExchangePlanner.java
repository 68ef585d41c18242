package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.memory.BufferAccess;
import dev.banyan.cuda.internal.memory.CopyLane;
import dev.banyan.cuda.internal.memory.ProgramPieces;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.internal.peer.ProgramReach;
import dev.banyan.cuda.internal.program.DeviceTables;
import dev.banyan.cuda.internal.program.LaunchPlan;
import dev.banyan.cuda.internal.program.ProgramPlan;
import dev.banyan.cuda.internal.ptx.Element;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.internal.program.DirectExchange;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Makes plans of schedules as exchanges over memory that is open to all devices. Safe for use from any thread.
 */
public final class ExchangePlanner {
    /** A block takes so many bytes of a rank's shares at least. */
    private static final long LEAST_OF_A_BLOCK = 16L * ExchangeKernel.THREADS;

    private final Ranks ranks;
    private final ProgramReach peers;
    private final ProgramPieces pieces;
    private final ProgramSizes sizes;
    private final DeviceTables tables;
    /** The piece with the flags of each rank; none before the first plan. */
    private final List<Integer> flags = new ArrayList<>();

    /**
     * @param ranks all ranks, which this process holds
     * @param lanes copies to each device
     * @param peers the pairs that reach each other's memory
     * @param pieces memory of programs
     * @param sizes by which programs are cut: what these carry in lines is no exchange
     */
    public ExchangePlanner(
            Ranks ranks,
            Map<CudaDevice, CopyLane> lanes,
            ProgramReach peers,
            ProgramPieces pieces,
            ProgramSizes sizes) {
        this.ranks = ranks;
        this.peers = peers;
        this.pieces = pieces;
        this.sizes = sizes;
        tables = new DeviceTables(lanes);
    }

    /**
     * Returns a plan, or null if the schedule has another form, a program takes less time, or the devices do not all
     * reach each other.
     */
    public synchronized @Nullable LaunchPlan plan(Schedule schedule, DataType type, ReduceOp op) {
        boolean mean = op == ReduceOp.AVG && schedule.collective().reduces();
        if (schedule.ranks() > Kernel.Program.MOST_RANKS
                || ranks.mostRanksOfADevice() > 1
                || (mean && !type.isFloating())
                || !allReachEachOther()) {
            return null;
        }
        DirectExchange exchange = DirectExchange.of(schedule, sizes).orElse(null);
        if (exchange == null || exchange.shares().isEmpty()) {
            return null;
        }
        exchange.verify();
        ExchangeKernel kernel = new ExchangeKernel(op == ReduceOp.AVG ? ReduceOp.SUM : op, Element.of(type));
        int blocks = blocks(exchange, kernel);
        if (blocks < 1) {
            return null;
        }
        addFlags();
        List<ProgramPlan.Part> parts = new ArrayList<>();
        for (int rank = 0; rank < ranks.size(); rank++) {
            CudaDevice device = ranks.get(rank);
            List<Long> addresses =
                    flags.stream().map(piece -> pieces.address(piece, device)).toList();
            ExchangeTable table =
                    new ExchangeTable(blocks, rank, addresses, shares(exchange, rank, mean, type.bytes()));
            parts.add(tables.part(
                    device, table.bytes(), blocks, (_, counter) -> table.at(counter), device.function(kernel)));
        }
        return new ExchangePlan(
                schedule.collective().label() + " by " + schedule.algorithm(), kernel, parts, uses(exchange));
    }

    private boolean allReachEachOther() {
        for (int rank = 0; rank < ranks.size(); rank++) {
            for (int other = 0; other < rank; other++) {
                if (!peers.reaches(rank, other) || !peers.reaches(other, rank)) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Returns the number of blocks of each rank, all of which run at once. */
    private int blocks(DirectExchange exchange, ExchangeKernel kernel) {
        long[] bytes = new long[ranks.size()];
        exchange.shares().forEach(share -> bytes[share.rank()] += share.bytes());
        long most = 0;
        long least = sizes.blocks();
        for (int rank = 0; rank < bytes.length; rank++) {
            most = Math.max(most, bytes[rank]);
            least = Math.min(least, ranks.get(rank).residentBlocks(kernel, ExchangeKernel.THREADS));
        }
        return (int) Math.min(least, Math.ceilDiv(most, LEAST_OF_A_BLOCK));
    }

    private void addFlags() {
        for (int rank = flags.size(); rank < ranks.size(); rank++) {
            flags.add(pieces.add(ranks.place(rank), ExchangeTable.flagBytes(sizes.blocks()), false));
        }
    }

    private List<ExchangeTable.Share> shares(DirectExchange exchange, int rank, boolean mean, int elementBytes) {
        List<ExchangeTable.Share> shares = new ArrayList<>();
        for (DirectExchange.Share share : exchange.shares()) {
            if (share.rank() == rank) {
                List<ExchangeTable.Place> sources = places(exchange.schedule(), share.sources().stream());
                // Each rank stores to the ranks behind it first, so that not all store to one.
                List<ExchangeTable.Place> targets = places(
                        exchange.schedule(),
                        share.targets().stream()
                                .sorted((one, other) -> Integer.compare(behind(rank, one), behind(rank, other))));
                shares.add(new ExchangeTable.Share(
                        sources, targets, mean ? ranks.size() : 1, share.bytes() / elementBytes));
            }
        }
        return shares;
    }

    private int behind(int rank, Location target) {
        return Math.floorMod(target.rank() - rank - 1, ranks.size());
    }

    private static List<ExchangeTable.Place> places(Schedule schedule, Stream<Location> locations) {
        return locations
                .map(schedule::inBuffers)
                .map(location -> new ExchangeTable.Place(
                        location.space() == Space.INPUT ? location.rank() : Kernel.Program.MOST_RANKS + location.rank(),
                        location.offset()))
                .toList();
    }

    private Map<BufferAccess.Use, Long> uses(DirectExchange exchange) {
        Map<BufferAccess.Use, Long> uses = new LinkedHashMap<>();
        for (DirectExchange.Share share : exchange.shares()) {
            Stream.concat(share.sources().stream(), share.targets().stream())
                    .map(exchange.schedule()::inBuffers)
                    .forEach(location -> uses.merge(
                            new BufferAccess.Use(location.space(), location.rank(), ranks.get(share.rank())),
                            location.offset() + share.bytes(),
                            Math::max));
        }
        return uses;
    }

    /** Takes back what a plan has alone; nothing of it runs. */
    public synchronized void close(LaunchPlan plan) {
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
}
