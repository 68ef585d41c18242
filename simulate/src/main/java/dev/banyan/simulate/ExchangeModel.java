package dev.banyan.simulate;

import dev.banyan.schedule.Location;
import dev.banyan.schedule.internal.program.DirectExchange;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.simulate.internal.rate.Clock;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Predicts how long {@linkplain DirectExchange exchanges} take, where all pairs have peer access over NVLink and the
 * profile has {@code exchange.linkFraction}. The model, whose other constants are those of device programs:
 *
 * <ul>
 *   <li>The kernels begin as those of programs. Each of the two barriers takes {@code program.flagUs} and {@code
 *       program.sliceUs}; the first data comes {@code program.flagUs} after the first barrier, as loads go there and
 *       back.
 *   <li>All data moves at once in between: over each link at {@code exchange.linkFraction} of the rate of copies, over
 *       the memory of each device, and through the blocks of each rank at {@code program.blockGbs}. The slowest of
 *       these counts.
 *   <li>Where one NVSwitch that reduces joins three to fifteen devices, and the profile has {@code
 *       exchange.multicastFraction}, each share crosses the link of each device once to be combined, and once to be
 *       copied, at that fraction of the rate of copies. Sums are taken to be of 16-bit or 32-bit floats, or of 32-bit
 *       integers, where elements are as long.
 *   <li>Blocks copy {@linkplain CallBuffers#ANY other buffers} to a staging buffer and results back, slice by slice,
 *       with two barriers for each slice. The blocks are taken to work in step, so that no copy overlaps a transfer.
 *   <li>The call ends {@code program.endUs} later.
 * </ul>
 */
final class ExchangeModel {
    private static final long BYTES_OF_A_BLOCK = 8 << 10;
    /** Transfers on each way that {@link #play} reports. */
    private static final int PIECES = 6;

    private final Wiring wiring;
    private final Profile profile;
    private final double launchUs;
    private final boolean multicasts;

    ExchangeModel(Machine machine, Wiring wiring, Profile profile, double launchUs) {
        this.wiring = wiring;
        this.profile = profile;
        this.launchUs = launchUs;
        multicasts = profile.get(Constant.EXCHANGE_MULTICAST_FRACTION) > 0
                && DirectExchange.takesSwitch(wiring.ranks)
                && applies()
                && isJoinedByOneSwitch(machine);
    }

    /** Returns whether each pair is joined by the same switch alone, which reduces. */
    private boolean isJoinedByOneSwitch(Machine machine) {
        int[] switches = IntStream.range(0, wiring.ranks * wiring.ranks)
                .filter(pair -> pair / wiring.ranks != pair % wiring.ranks)
                .map(pair -> between(machine, pair))
                .distinct()
                .toArray();
        return switches.length == 1 && switches[0] >= 0;
    }

    /** Returns the node of the switch that reduces, over which alone a pair is joined, or -1. */
    private int between(Machine machine, int pair) {
        int[] nodes = arcs(pair).map(wiring.network::to).toArray();
        int node = nodes.length == 2 ? wiring.network.node(nodes[0]).machineNode() : -1;
        return node >= 0 && machine.node(node) instanceof Hub hub && hub.reduces() ? node : -1;
    }

    /** Returns whether all pairs have peer access over NVLink, of which the profile says what exchanges reach. */
    boolean applies() {
        return profile.get(Constant.EXCHANGE_LINK_FRACTION) > 0
                && IntStream.range(0, wiring.ranks)
                        .allMatch(from -> IntStream.range(0, wiring.ranks)
                                .allMatch(to -> from == to || isOverNvlink(from * wiring.ranks + to)));
    }

    private boolean isOverNvlink(int pair) {
        return wiring.network.grantsPeerAccess(pair / wiring.ranks, pair % wiring.ranks)
                && wiring.hasPath(pair)
                && arcs(pair).allMatch(arc -> wiring.network.kind(arc) == Link.Kind.NVLINK);
    }

    private IntStream arcs(int pair) {
        return IntStream.range(wiring.pathStart[wiring.flowStart[pair]], wiring.pathStart[wiring.flowStart[pair + 1]])
                .map(entry -> wiring.path[entry]);
    }

    /** Returns whether one switch joins all ranks and can add up and copy for them. */
    boolean hasSwitch() {
        return multicasts;
    }

    /** Returns whether the switch takes part. */
    boolean multicasts(DirectExchange exchange) {
        return multicasts
                && exchange.shares().stream()
                        .anyMatch(share -> isCombined(exchange, share) || isCopied(exchange, share));
    }

    private static boolean isCombined(DirectExchange exchange, DirectExchange.Share share) {
        int bytes = exchange.schedule().elementBytes();
        return (bytes == 2 || bytes == 4) && exchange.loadsFromAll(share);
    }

    private static boolean isCopied(DirectExchange exchange, DirectExchange.Share share) {
        return exchange.storesToAll(share) && (share.sources().size() == 1 || isCombined(exchange, share));
    }

    /**
     * Returns the time of an exchange in us.
     *
     * @param multicast whether the switch takes part
     */
    double us(DirectExchange exchange, boolean multicast, CallBuffers buffers) {
        double stagingUs = buffers == CallBuffers.ANY ? stagingUs(exchange) : 0;
        return dataAtUs()
                + dataUs(exchange, multicast)
                + stagingUs
                + barrierUs()
                + profile.get(Constant.PROGRAM_END_US);
    }

    /** Returns the time of copies to and from a staging buffer, and of the barriers of all slices but the first. */
    private double stagingUs(DirectExchange exchange) {
        Map<Location, Long> inputs = new HashMap<>();
        Map<Location, Long> outputs = new HashMap<>();
        long longest = 0;
        for (DirectExchange.Share share : exchange.shares()) {
            share.sources().forEach(source -> inputs.merge(source, share.bytes(), Math::max));
            share.targets().forEach(target -> outputs.merge(target, share.bytes(), Math::max));
            longest = Math.max(longest, share.bytes());
        }
        double[] copied = new double[wiring.ranks];
        Stream.of(inputs, outputs)
                .forEach(places -> places.forEach((place, bytes) -> copied[place.rank()] += 2 * bytes));
        double most = Arrays.stream(copied).max().orElse(0);
        long blocks = blocks((double) longest);
        long slice = Math.min(
                ProgramSizes.DEFAULT.stageOfABlock() / (ranges(inputs) + ranges(outputs)),
                Math.ceilDiv(longest, blocks));
        long rounds = Math.ceilDiv(longest, slice * blocks);
        double memoryUs = IntStream.range(0, wiring.ranks)
                        .mapToDouble(rank -> copied[rank] / wiring.capacity[wiring.network.arcs() + rank])
                        .max()
                        .orElse(0)
                / Clock.TICKS_PER_US;
        return Math.max(memoryUs, blocksUs(most, blocks)) + 2 * (rounds - 1) * barrierUs();
    }

    /** Returns how many places of any rank differ in their space or offset: each has a part in a staging buffer. */
    private static int ranges(Map<Location, Long> places) {
        return (int) places.keySet().stream()
                .map(place -> new Location(0, place.space(), place.offset()))
                .distinct()
                .count();
    }

    /** Returns how many blocks carry out shares of which the longest has so many bytes. */
    private static long blocks(double bytes) {
        return (long) Math.clamp(Math.ceil(bytes / BYTES_OF_A_BLOCK), 1, ProgramSizes.DEFAULT.blocks());
    }

    private double blocksUs(double moved, long blocks) {
        return moved / (blocks * profile.get(Constant.PROGRAM_BLOCK_GBS) * 1e3);
    }

    /** Returns when the first data moves. */
    private double dataAtUs() {
        return launchUs + barrierUs() + profile.get(Constant.PROGRAM_FLAG_US);
    }

    private double barrierUs() {
        return profile.get(Constant.PROGRAM_FLAG_US) + profile.get(Constant.PROGRAM_SLICE_US);
    }

    /**
     * Reports an exchange as transfers, a few successive ones on each way. Their step is 0 for inputs and 1 for
     * results; their chunk is the rank that combines or copies them.
     *
     * @param multicast whether the switch takes part: it receives a transfer from each rank, and sends one to each
     */
    void play(DirectExchange exchange, boolean multicast, SimulationListener listener) {
        double dataUs = dataUs(exchange, multicast);
        for (int piece = 0; piece < PIECES; piece++) {
            double startUs = dataAtUs() + dataUs * piece / PIECES;
            double endUs = dataAtUs() + dataUs * (piece + 1) / PIECES;
            for (DirectExchange.Share each : exchange.shares()) {
                int owner = each.rank();
                boolean combined = multicast && isCombined(exchange, each);
                boolean copied = multicast && isCopied(exchange, each);
                Piece moved = new Piece(listener, owner, (double) each.bytes() / PIECES, startUs, endUs);
                IntStream.range(0, wiring.ranks).forEach(rank -> {
                    boolean isSource = each.sources().stream().anyMatch(source -> source.rank() == rank);
                    boolean isTarget = each.targets().stream().anyMatch(target -> target.rank() == rank);
                    if (combined) {
                        moved.cross(0, rank, owner, List.of(hop(rank, true)));
                    } else if (isSource && rank != owner) {
                        moved.cross(0, rank, owner, way(rank, owner));
                    }
                    if (copied) {
                        moved.cross(1, owner, rank, List.of(hop(rank, false)));
                    } else if (isTarget && rank != owner) {
                        moved.cross(1, owner, rank, way(owner, rank));
                    }
                });
                if (combined) {
                    moved.cross(0, owner, owner, List.of(hop(owner, false)));
                }
                if (copied) {
                    moved.cross(1, owner, owner, List.of(hop(owner, true)));
                }
            }
        }
    }

    /** A piece of a share, which crosses all its ways at the same time. */
    private record Piece(SimulationListener listener, int owner, double bytes, double startUs, double endUs) {
        void cross(int step, int from, int to, List<Integer> arcs) {
            listener.transferred(
                    new SimulationListener.Transfer(0, owner, step, from, to, arcs, bytes, startUs, endUs, endUs));
        }
    }

    private List<Integer> way(int from, int to) {
        return arcs(from * wiring.ranks + to).boxed().toList();
    }

    /** Returns the time in which all data moves at once. */
    private double dataUs(DirectExchange exchange, boolean multicast) {
        double[] load = new double[wiring.network.arcs() + wiring.ranks];
        double[] moved = new double[wiring.ranks];
        double[] share = new double[wiring.ranks];
        for (DirectExchange.Share each : exchange.shares()) {
            boolean combined = multicast && isCombined(exchange, each);
            boolean copied = multicast && isCopied(exchange, each);
            if (combined) {
                eachRank(rank -> addHop(load, rank, true, each.bytes()));
                addHop(load, each.rank(), false, each.bytes());
            } else {
                each.sources().forEach(source -> add(load, source.rank(), each.rank(), each.bytes()));
            }
            if (copied) {
                addHop(load, each.rank(), true, each.bytes());
                eachRank(rank -> addHop(load, rank, false, each.bytes()));
            } else {
                each.targets().forEach(target -> add(load, each.rank(), target.rank(), each.bytes()));
            }
            share[each.rank()] += each.bytes();
            moved[each.rank()] += (double) each.bytes()
                    * ((combined ? 1 : each.sources().size())
                            + (copied ? 1 : each.targets().size()));
        }
        Constant links = multicast ? Constant.EXCHANGE_MULTICAST_FRACTION : Constant.EXCHANGE_LINK_FRACTION;
        double ticks = 0;
        for (int resource = 0; resource < load.length; resource++) {
            double fraction = resource < wiring.network.arcs() ? profile.get(links) : 1;
            ticks = Math.max(ticks, load[resource] / (wiring.capacity[resource] * fraction));
        }
        double blocksUs = blocksUs(
                Arrays.stream(moved).max().orElse(0),
                blocks(Arrays.stream(share).max().orElse(0)));
        return Math.max(ticks / Clock.TICKS_PER_US, blocksUs);
    }

    private void eachRank(IntConsumer action) {
        IntStream.range(0, wiring.ranks).forEach(action);
    }

    /** Adds what crosses the link between a rank and the switch. */
    private void addHop(double[] load, int rank, boolean out, long bytes) {
        load[hop(rank, out)] += bytes;
        load[wiring.network.arcs() + rank] += bytes;
    }

    /** Returns the arc between a rank and the switch. */
    private int hop(int rank, boolean out) {
        int other = rank == 0 ? 1 : 0;
        int flow = wiring.flowStart[out ? rank * wiring.ranks + other : other * wiring.ranks + rank];
        return wiring.path[out ? wiring.pathStart[flow] : wiring.pathStart[flow + 1] - 1];
    }

    private void add(double[] load, int from, int to, long bytes) {
        load[wiring.network.arcs() + (from == to ? from : to)] += bytes;
        if (from != to) {
            load[wiring.network.arcs() + from] += bytes;
            int pair = from * wiring.ranks + to;
            for (int flow = wiring.flowStart[pair]; flow < wiring.flowStart[pair + 1]; flow++) {
                for (int entry = wiring.pathStart[flow]; entry < wiring.pathStart[flow + 1]; entry++) {
                    load[wiring.path[entry]] += bytes * wiring.share[flow];
                }
            }
        }
    }
}
