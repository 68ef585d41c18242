package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.MulticastMemory;
import dev.banyan.cuda.internal.memory.BufferAccess;
import dev.banyan.cuda.internal.memory.CopyLane;
import dev.banyan.cuda.internal.memory.JointMemory;
import dev.banyan.cuda.internal.memory.ProgramPieces;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.internal.peer.ProgramReach;
import dev.banyan.cuda.internal.program.DeviceTables;
import dev.banyan.cuda.internal.program.LaunchPlan;
import dev.banyan.cuda.internal.program.ProgramPlan;
import dev.banyan.cuda.internal.ptx.Element;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.internal.program.DirectExchange;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
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
    private final @Nullable JointMemory joint;
    private final DeviceTables tables;
    private final List<CudaDevice> devices;
    private final boolean multicasts;
    /** The piece with the flags of each rank; none before the first plan. */
    private final List<Integer> flags = new ArrayList<>();

    /**
     * @param lanes copies to each device, in the order in which devices first appear among the ranks
     * @param peers the pairs that reach each other's memory of exchanges
     * @param pieces memory of programs
     * @param sizes by which programs are cut: what these carry in lines is no exchange
     * @param joint memory that other processes may touch, too, if these hold ranks
     */
    public ExchangePlanner(
            Ranks ranks,
            Map<CudaDevice, CopyLane> lanes,
            ProgramReach peers,
            ProgramPieces pieces,
            ProgramSizes sizes,
            @Nullable JointMemory joint) {
        this.ranks = ranks;
        this.peers = peers;
        this.pieces = pieces;
        this.sizes = sizes;
        this.joint = joint;
        tables = new DeviceTables(lanes);
        devices = List.copyOf(lanes.keySet());
        multicasts = joint == null && ranks.mostRanksOfADevice() == 1 && MulticastMemory.isSupported(devices);
    }

    /** Returns plans of a schedule, of which the first takes least time; none where a program takes less. */
    public synchronized List<LaunchPlan> plans(Schedule schedule, DataType type, ReduceOp op) {
        boolean mean = op == ReduceOp.AVG && schedule.collective().reduces();
        if ((mean && !type.isFloating()) || !DirectExchange.isLongEnough(schedule, sizes)) {
            return List.of();
        }
        DirectExchange exchange = exchange(schedule).orElse(null);
        if (exchange == null) {
            return List.of();
        }
        ReduceOp combining = op == ReduceOp.AVG ? ReduceOp.SUM : op;
        Element element = Element.of(type);
        int divisor = mean ? ranks.size() : 1;
        List<LaunchPlan> plans = new ArrayList<>();
        boolean isJoint = joint != null;
        boolean hasSwitch = joint == null ? multicasts : joint.multicasts();
        if (hasSwitch && ranks.size() <= DirectExchange.MOST_RANKS_IN_A_SWITCH) {
            boolean combines = MulticastLoops.combines(combining, element, mean);
            ExchangeShares inSwitch = new ExchangeShares(exchange, divisor, type.bytes(), true, combines, isJoint);
            if (!inSwitch.multicast().isEmpty()) {
                plan(new ExchangeKernel(combining, element, true), inSwitch, exchange)
                        .ifPresent(plans::add);
            }
        }
        if (isJoint && !plans.isEmpty()) {
            // No process may choose another plan by its own buffers alone.
            return plans;
        }
        ExchangeShares shares = ExchangeShares.byRanks(exchange, divisor, type.bytes());
        plan(new ExchangeKernel(combining, element, false), shares, exchange).ifPresent(plans::add);
        return plans;
    }

    /**
     * Returns the plan of a reproducible sum.
     *
     * @param schedule a reduction over all ranks, of which each result follows from inputs at once
     */
    public synchronized Optional<LaunchPlan> plan(Schedule schedule, ReproducibleSum sum) {
        return exchange(schedule)
                .flatMap(exchange -> plan(
                        new SumKernel(sum.type(), sum.contributions()),
                        ExchangeShares.byRanks(
                                exchange, sum.divisor(), sum.type().bytes()),
                        exchange))
                .map(LaunchPlan.class::cast);
    }

    /** Returns a schedule as an exchange between these devices, if it can be one and has something to do. */
    private Optional<DirectExchange> exchange(Schedule schedule) {
        if (schedule.ranks() > Kernel.Program.MOST_RANKS || !allReachEachOther()) {
            return Optional.empty();
        }
        Optional<DirectExchange> exchange =
                DirectExchange.of(schedule).filter(direct -> !direct.shares().isEmpty());
        exchange.ifPresent(DirectExchange::verify);
        return exchange;
    }

    private Optional<ExchangePlan> plan(Kernel kernel, ExchangeShares shares, DirectExchange exchange) {
        int blocks = blocks(exchange, kernel);
        if (blocks < 1) {
            return Optional.empty();
        }
        addFlags(exchange.schedule().collective().label() + " as an exchange by " + blocks + " blocks");
        List<ProgramPlan.Part> parts = new ArrayList<>();
        for (CudaDevice device : devices) {
            List<Long> addresses =
                    flags.stream().map(piece -> pieces.address(piece, device)).toList();
            List<ExchangeTable> here = IntStream.range(0, ranks.size())
                    .filter(rank -> ranks.holds(rank) && ranks.get(rank).equals(device))
                    .mapToObj(rank -> new ExchangeTable(
                            blocks, rank, addresses, shares.of(rank), joint == null ? 0 : joint.table(device)))
                    .toList();
            parts.add(tables.part(
                    device,
                    ExchangeTable.bytes(here),
                    here.size() * blocks,
                    (_, counter) -> ExchangeTable.write(here, counter),
                    device.function(kernel)));
        }
        Schedule schedule = exchange.schedule();
        return Optional.of(new ExchangePlan(
                schedule.collective().label() + " by " + schedule.algorithm(),
                kernel,
                parts,
                uses(exchange),
                joint,
                shares.multicast()));
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
    private int blocks(DirectExchange exchange, Kernel kernel) {
        long[] bytes = new long[ranks.size()];
        exchange.shares().forEach(share -> bytes[share.rank()] += share.bytes());
        long least = sizes.blocks();
        // The devices of other processes are taken to be like these; their numbers differ otherwise.
        for (CudaDevice device : devices) {
            int resident = device.residentBlocks(kernel, ExchangeKernel.THREADS);
            least = Math.min(least, resident / ranks.mostRanksOfADevice());
        }
        long most = LongStream.of(bytes).max().orElse(0);
        return (int) Math.min(least, Math.ceilDiv(most, LEAST_OF_A_BLOCK));
    }

    private void addFlags(String what) {
        for (int rank = flags.size(); rank < ranks.size(); rank++) {
            flags.add(pieces.add(ranks.place(rank), ExchangeTable.flagBytes(sizes.blocks()), false));
        }
        pieces.share(what);
    }

    private Map<BufferAccess.Use, Long> uses(DirectExchange exchange) {
        Map<BufferAccess.Use, Long> uses = new LinkedHashMap<>();
        for (DirectExchange.Share share : exchange.shares()) {
            Stream.concat(share.sources().stream(), share.targets().stream())
                    .map(exchange.schedule()::inBuffers)
                    .filter(location -> ranks.holds(location.rank()))
                    .forEach(location -> uses.merge(
                            new BufferAccess.Use(
                                    location.space(),
                                    location.rank(),
                                    ranks.get(ranks.holds(share.rank()) ? share.rank() : location.rank())),
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
