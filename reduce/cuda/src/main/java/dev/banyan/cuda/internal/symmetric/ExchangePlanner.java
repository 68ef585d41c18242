package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.MulticastMemory;
import dev.banyan.cuda.internal.memory.BufferAccess;
import dev.banyan.cuda.internal.memory.CopyLane;
import dev.banyan.cuda.internal.memory.DeviceMemory;
import dev.banyan.cuda.internal.memory.JointMemory;
import dev.banyan.cuda.internal.memory.ProgramPieces;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.internal.peer.ProgramReach;
import dev.banyan.cuda.internal.program.DeviceTables;
import dev.banyan.cuda.internal.program.LaunchPlan;
import dev.banyan.cuda.internal.program.ProgramPlan;
import dev.banyan.cuda.internal.ptx.Element;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.type.CudaException;
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
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes plans of schedules as exchanges over memory that is open to all devices. Safe for use from any thread.
 */
public final class ExchangePlanner {
    private static final Logger LOG = LoggerFactory.getLogger(ExchangePlanner.class);
    /** A block takes so many bytes of a rank's shares at least. */
    private static final long LEAST_OF_A_BLOCK = (long) ExchangeTable.WORD_BYTES * ExchangeKernel.MOST_THREADS;
    /** A block has so many threads at least, whole warps that keep the record of a call. */
    private static final int LEAST_THREADS = Math.ceilDiv(ExchangeRecord.WORDS, 32) * 32;

    private final Ranks ranks;
    private final ProgramReach peers;
    private final ProgramPieces pieces;
    private final ProgramSizes sizes;
    private final @Nullable JointMemory joint;
    private final DeviceTables tables;
    private final List<CudaDevice> devices;
    private final boolean multicasts;
    private final DeviceMemory memory;
    private @Nullable Stage stage;
    private boolean triedStage;
    /** The piece with the flags of each rank; none before the first plan. */
    private final List<Integer> flags = new ArrayList<>();

    /**
     * @param lanes copies to each device, in the order in which devices first appear among the ranks
     * @param peers the pairs that reach each other's memory of exchanges
     * @param pieces memory of programs
     * @param sizes by which programs are cut: what these carry in lines is no exchange
     * @param memory of users, some of which is open to all devices
     * @param joint memory that other processes may touch, too, if these hold ranks
     */
    public ExchangePlanner(
            Ranks ranks,
            Map<CudaDevice, CopyLane> lanes,
            ProgramReach peers,
            ProgramPieces pieces,
            ProgramSizes sizes,
            DeviceMemory memory,
            @Nullable JointMemory joint) {
        this.ranks = ranks;
        this.peers = peers;
        this.pieces = pieces;
        this.sizes = sizes;
        this.memory = memory;
        this.joint = joint;
        tables = new DeviceTables(lanes);
        devices = List.copyOf(lanes.keySet());
        multicasts = joint == null
                && ranks.mostRanksOfADevice() == 1
                && DirectExchange.takesSwitch(devices.size())
                && MulticastMemory.isSupported(devices);
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
        boolean hasSwitch = joint == null ? multicasts : joint.multicasts();
        ExchangeWork work = new ExchangeWork(
                exchange,
                mean ? ranks.size() : 1,
                type.bytes(),
                hasSwitch,
                hasSwitch && DirectExchange.combinesInSwitch(type, op));
        boolean usesSwitch = work.usesSwitch();
        Kernel kernel = new ExchangeKernel(combining, element, usesSwitch);
        List<LaunchPlan> plans = new ArrayList<>();
        if (joint != null) {
            plan(kernel, work, true, true).ifPresent(plans::add);
            return plans;
        }
        if (usesSwitch) {
            plan(kernel, work, true, false)
                    .filter(plan -> !plan.multicast().isEmpty())
                    .ifPresent(plans::add);
        }
        plan(new ExchangeKernel(combining, element, false), work.byRanks(), true, false)
                .ifPresent(plans::add);
        if (usesSwitch) {
            plan(kernel, work, false, true).ifPresent(plans::add);
        }
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
                        new ExchangeWork(exchange, sum.divisor(), sum.type().bytes(), false, false),
                        true,
                        joint != null))
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

    /**
     * Returns a plan, if there is one.
     *
     * @param isDirect whether it exchanges between buffers that are open to all devices
     * @param isStaged whether it takes other buffers, whose data go through the stage
     */
    private Optional<ExchangePlan> plan(Kernel kernel, ExchangeWork work, boolean isDirect, boolean isStaged) {
        int blocks = blocks(work.exchange(), kernel);
        if (blocks < 1) {
            return Optional.empty();
        }
        Stage through = isStaged ? stage() : null;
        Optional<StagedShares> staged = through == null ? Optional.empty() : StagedShares.of(work, through, blocks);
        if (!isDirect && staged.isEmpty()) {
            return Optional.empty();
        }
        String name = work.schedule().collective().label();
        addFlags(name + " as an exchange by " + blocks + " blocks");
        ExchangeShares direct = isDirect ? new ExchangeShares(work, joint != null) : null;
        ExchangeTable.Staging staging = new ExchangeTable.Staging(
                isDirect ? ExchangeTable.Share.DIRECT : ExchangeTable.Share.COPY_IN,
                through == null ? 0 : through.bytesOfABlock(),
                staged.map(StagedShares::slice).orElse(0L),
                work.longest());
        List<ProgramPlan.Part> parts = new ArrayList<>();
        for (CudaDevice device : devices) {
            List<Long> addresses =
                    flags.stream().map(piece -> pieces.address(piece, device)).toList();
            List<ExchangeTable> here = new ArrayList<>();
            for (int rank = ranks.first(); ranks.holds(rank); rank++) {
                if (ranks.get(rank).equals(device)) {
                    List<ExchangeTable.Share> shares = new ArrayList<>(direct == null ? List.of() : direct.of(rank));
                    int number = rank;
                    staged.ifPresent(some -> shares.addAll(some.of(number)));
                    long table = joint == null ? 0 : joint.table(device);
                    here.add(new ExchangeTable(blocks, rank, addresses, shares, table, staging));
                }
            }
            parts.add(tables.part(
                    device,
                    ExchangeTable.bytes(here),
                    here.size() * blocks,
                    (_, counter) -> ExchangeTable.write(here, counter),
                    device.function(kernel)));
        }
        return Optional.of(new ExchangePlan(
                name + " by " + work.schedule().algorithm(),
                kernel,
                parts,
                uses(work.exchange(), joint != null || !isDirect),
                joint,
                direct == null ? Set.of() : direct.multicast(),
                threads(Math.ceilDiv(work.longest(), (long) blocks)),
                Math.max(2, 1 + 2 * staged.map(some -> some.rounds(blocks)).orElse(0L)),
                staged.isPresent()));
    }

    /**
     * Returns the stage, which is made when a plan first needs it, in all processes at once; null if this process holds
     * all ranks and the memory or the switch cannot give one.
     */
    private @Nullable Stage stage() {
        if (!triedStage) {
            triedStage = true;
            int bytesOfABlock = sizes.stageOfABlock();
            stage = joint == null ? ownStage(bytesOfABlock) : jointStage(bytesOfABlock);
        }
        return stage;
    }

    private @Nullable Stage ownStage(int bytesOfABlock) {
        try {
            return memory.allocateTogether((long) bytesOfABlock * sizes.blocks())
                    .map(made -> new Stage(made.addresses(), made.multicast(), bytesOfABlock))
                    .orElse(null);
        } catch (CudaException e) {
            LOG.warn(
                    "buffers that the communicator has not allocated go by slots, not by the switch: {}",
                    e.getMessage());
            return null;
        }
    }

    private Stage jointStage(int bytesOfABlock) {
        List<Integer> added = IntStream.range(0, ranks.size())
                .mapToObj(rank -> pieces.add(ranks.place(rank), (long) bytesOfABlock * sizes.blocks(), false))
                .toList();
        String what = "a stage for exchanges";
        pieces.share(what);
        return new Stage(
                added.stream()
                        .map(piece -> pieces.address(piece, ranks.leader()))
                        .toList(),
                pieces.multicast(added, what),
                bytesOfABlock);
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
            int resident = device.residentBlocks(kernel, ExchangeKernel.MOST_THREADS);
            least = Math.min(least, resident / ranks.mostRanksOfADevice());
        }
        long most = LongStream.of(bytes).max().orElse(0);
        return (int) Math.min(least, Math.ceilDiv(most, LEAST_OF_A_BLOCK));
    }

    /** Returns as many threads as the words that a block takes of a share, in whole warps; fewer meet sooner. */
    private static int threads(long bytes) {
        long words = Math.ceilDiv(bytes, (long) ExchangeTable.WORD_BYTES);
        return Math.clamp(Math.ceilDiv(words, 32L) * 32, LEAST_THREADS, ExchangeKernel.MOST_THREADS);
    }

    private void addFlags(String what) {
        for (int rank = flags.size(); rank < ranks.size(); rank++) {
            flags.add(pieces.add(ranks.place(rank), ExchangeTable.flagBytes(sizes.blocks()), false));
        }
        pieces.share(what);
    }

    /** @param byOwner whether each buffer is touched by the device of its rank alone, or is open to all */
    private Map<BufferAccess.Use, Long> uses(DirectExchange exchange, boolean byOwner) {
        Map<BufferAccess.Use, Long> uses = new LinkedHashMap<>();
        for (DirectExchange.Share share : exchange.shares()) {
            Stream.concat(share.sources().stream(), share.targets().stream())
                    .map(exchange.schedule()::inBuffers)
                    .filter(location -> ranks.holds(location.rank()))
                    .forEach(location -> uses.merge(
                            new BufferAccess.Use(
                                    location.space(),
                                    location.rank(),
                                    ranks.get(byOwner ? location.rank() : share.rank())),
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
