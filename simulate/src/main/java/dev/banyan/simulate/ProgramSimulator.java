package dev.banyan.simulate;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Step;
import dev.banyan.schedule.internal.program.Channel;
import dev.banyan.schedule.internal.program.DirectExchange;
import dev.banyan.schedule.internal.program.Lane;
import dev.banyan.schedule.internal.program.ProgramLayout;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.simulate.internal.rate.Clock;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Routes;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LogicalLink;
import java.nio.LongBuffer;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalDouble;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Predicts how long device programs take: one kernel on each device, as {@link dev.banyan.schedule.internal.program}
 * describes.
 *
 * <p>The model:
 *
 * <ul>
 *   <li>A thread for each device launches its kernel, in the order of ranks. The first one begins {@code
 *       program.launchUs} after the call, each further one {@code program.launchStepUs} later. All blocks of a kernel
 *       begin at once.
 *   <li>A block takes its loops one after another, and of each loop one slice after another. It starts a slice when the
 *       data of all incoming channels has been seen and all outgoing ones have a free slot, and takes {@code
 *       program.sliceUs} more for plain data.
 *   <li>Data is seen {@code program.flagUs} after the sender has stored all of a slice, data in lines {@code
 *       program.lineUs} after that; so are slots that become free, by flags. A call
 *       in lines finds its slots free, as behind another one of its kind, unless a block takes lines twice or the
 *       collective does not synchronize all ranks. The
 *       latencies of links are those of copies and are not added.
 *   <li>While a slice moves, its bytes go over the arcs of each outgoing channel, twice as many in lines, and all that
 *       it loads and stores on its own device through the memory there. Flows on an arc share it max-min fairly, as in
 *       {@link Simulator}; it carries {@code program.storeFraction} of what it carries of copies. Loads and stores of
 *       a block together are no faster than {@code program.blockGbs}, less in proportion with fewer than 512 threads
 *       that have work. The slice ends when all of this has ended.
 *   <li>The call ends {@code program.endUs} after the last block.
 * </ul>
 *
 * <p>Not modelled: clocks, caches, what data that arrives takes of a device's memory, and that stores of several blocks
 * to one device could meet in its memory.
 *
 * <p>Where nobody measured a constant, a profile has a range; {@link Profile#fastest} and {@link Profile#slowest} give
 * those of times. Time is counted in whole picoseconds. The same input gives the same result. Safe for use from any
 * thread.
 */
public final class ProgramSimulator {
    /** Least number of slices of the shorter one of two programs from which longer ones are extrapolated. */
    private static final int LEAST_STEADY_SLICES = 16;
    /** Greatest number of programs whose times are kept. */
    private static final int MOST_KNOWN = 64;

    /**
     * The parts of a run that a prediction takes.
     *
     * @param endUs the time of the program
     * @param busiestUs what the busiest arc takes at its full rate, which no pipeline is faster than
     */
    private record Times(double endUs, double busiestUs) {}

    private final Wiring wiring;
    private final Routes routes;
    private final Profile profile;
    private final ExchangeModel exchanges;
    /**
     * Times of the last programs. A sweep asks for many of them several times: lengths that differ only in the number
     * of slices, calls in place and out of place, and what the automatic choice takes.
     */
    private final Map<LongBuffer, Times> known = Collections.synchronizedMap(new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<LongBuffer, Times> eldest) {
            return size() > MOST_KNOWN;
        }
    });

    /**
     * Creates a simulator.
     *
     * @param machine whose device r is rank r
     * @param network all links of that machine
     * @param links the paths of pairs that don't go the usual way
     * @param profile the constants
     * @throws IllegalArgumentException if a path takes links that the network doesn't have
     */
    public ProgramSimulator(Machine machine, Network network, List<LogicalLink> links, Profile profile) {
        this.profile = Objects.requireNonNull(profile, "profile");
        wiring = new Wiring(network, links, profile);
        routes = Routes.of(machine);
        exchanges = new ExchangeModel(machine, wiring, profile, launchUs());
    }

    /**
     * Returns whether the devices of a schedule reach each other's memory wherever it copies: over a link or through
     * switches alone, and the driver grants access.
     */
    public boolean canRun(Schedule schedule) {
        BitSet known = new BitSet();
        for (Chunk chunk : schedule.chunks()) {
            for (Step step : chunk.steps()) {
                int to = step.target().rank();
                for (Location source : step.sources()) {
                    int from = source.rank();
                    int pair = from * wiring.ranks + to;
                    if (from != to && !known.get(pair)) {
                        known.set(pair);
                        if (!reaches(from, to) || !reaches(to, from)) {
                            return false;
                        }
                    }
                }
            }
        }
        return true;
    }

    private boolean reaches(int from, int to) {
        int pair = from * wiring.ranks + to;
        return wiring.hasPath(pair)
                && wiring.network.grantsPeerAccess(from, to)
                && !routes.between(from, to).passesCpu()
                && IntStream.range(
                                wiring.pathStart[wiring.flowStart[pair]], wiring.pathStart[wiring.flowStart[pair + 1]])
                        .map(entry -> wiring.network.to(wiring.path[entry]))
                        .allMatch(
                                node -> node == to || wiring.network.node(node).kind() == Network.Kind.HUB);
    }

    /** Returns whether schedules may run as exchanges, which need buffers that the communicator has allocated. */
    public boolean takesExchanges() {
        return exchanges.applies();
    }

    /** Returns whether exchanges let the switch of the machine add up and copy. */
    public boolean takesSwitch() {
        return exchanges.hasSwitch();
    }

    /** Returns whether a schedule, if it is long enough, runs as an exchange in which the switch adds up or copies. */
    public boolean takesSwitch(Schedule schedule) {
        return exchanges.hasSwitch()
                && DirectExchange.of(schedule).filter(exchanges::multicasts).isPresent();
    }

    /**
     * Reports the transfers of a schedule as an exchange, all of which move at once at a constant rate.
     *
     * @param schedule one that {@link #exchangeUs} has a time of
     * @throws IllegalArgumentException if it is no exchange
     */
    public void playExchange(Schedule schedule, SimulationListener listener) {
        DirectExchange exchange = DirectExchange.of(schedule)
                .orElseThrow(() -> new IllegalArgumentException(schedule.algorithm() + " is no exchange"));
        exchanges.play(exchange, exchanges.multicasts(exchange), listener);
    }

    /**
     * Returns the time of a schedule as an exchange, in us; nothing if it does not run as one.
     *
     * @param schedule one that {@linkplain #canRun can run}
     * @param buffers those of the call
     */
    public OptionalDouble exchangeUs(Schedule schedule, CallBuffers buffers) {
        if (!exchanges.applies()) {
            return OptionalDouble.empty();
        }
        if (!DirectExchange.isLongEnough(schedule, ProgramSizes.DEFAULT)) {
            return OptionalDouble.empty();
        }
        return DirectExchange.of(schedule).stream()
                .mapToDouble(exchange -> exchanges.us(exchange, exchanges.multicasts(exchange), buffers))
                .findAny();
    }

    /**
     * Returns the time of a reproducible sum in one pass, in us: of an exchange by loads and stores alone. Its
     * arithmetic is taken to be as fast as copies. Nothing if it does not run as one.
     *
     * @param schedule one that {@linkplain #canRun can run}
     * @param buffers those of the call
     */
    public OptionalDouble sumUs(Schedule schedule, CallBuffers buffers) {
        return exchanges.applies()
                ? DirectExchange.of(schedule).stream()
                        .mapToDouble(exchange -> exchanges.us(exchange, false, buffers))
                        .findAny()
                : OptionalDouble.empty();
    }

    /**
     * Simulates a program alone.
     *
     * @throws IllegalArgumentException if its ranks are not the machine's, or it takes longer than 26 days
     */
    public Simulation run(ProgramLayout layout) {
        return run(work(layout, Integer.MAX_VALUE), null);
    }

    /**
     * Simulates a program alone and reports each slice that a block moves: the data of each path as a transfer, with
     * the lane as its chunk, and what the block loads and stores on its own device as a kernel.
     *
     * @throws IllegalArgumentException as {@link #run(ProgramLayout)}
     */
    public Simulation run(ProgramLayout layout, SimulationListener listener) {
        return run(work(layout, Integer.MAX_VALUE), listener);
    }

    private ProgramWorkload work(ProgramLayout layout, int sliceLimit) {
        int ranks = layout.program().schedule().ranks();
        if (ranks != wiring.ranks) {
            throw new IllegalArgumentException("a program of " + ranks + " ranks; the network of "
                    + wiring.network.name() + " has " + wiring.ranks);
        }
        return new ProgramWorkload(layout, sliceLimit, wiring, profile);
    }

    private Simulation run(ProgramWorkload work, @Nullable SimulationListener listener) {
        return new ProgramEngine(wiring, work, profile, listener).run();
    }

    /**
     * Predicts the time of a program alone. That of many slices is extrapolated from shorter programs with slices of
     * the same length, as each further slice takes the same time when all pipelines are full.
     *
     * @return time in us
     */
    public double predictedUs(ProgramLayout layout) {
        int most = 0;
        int stages = 0;
        for (Lane lane : layout.program().lanes()) {
            most = Math.max(most, layout.slices(lane));
            stages = Math.max(stages, stages(lane));
        }
        int few = Math.max(LEAST_STEADY_SLICES, stages);
        if (most <= 2 * few) {
            return times(layout, Integer.MAX_VALUE).endUs;
        }
        Times once = times(layout, few);
        Times twice = times(layout, 2 * few);
        double more = (double) most / few - 2;
        double steadyUs = Math.max(twice.endUs - once.endUs, twice.busiestUs / 2);
        return twice.endUs + steadyUs * more;
    }

    private Times times(ProgramLayout layout, int sliceLimit) {
        ProgramWorkload work = work(layout, sliceLimit);
        LongBuffer key = work.key();
        Times times = known.get(key);
        if (times == null) {
            Simulation simulation = run(work, null);
            times = new Times(simulation.endUs(), busiestUs(simulation));
            known.put(key, times);
        }
        return times;
    }

    private double busiestUs(Simulation simulation) {
        double stores = profile.get(Constant.PROGRAM_STORE_FRACTION) * Clock.TICKS_PER_US;
        return IntStream.range(0, wiring.network.arcs())
                .mapToDouble(arc -> simulation.bytes(arc) / (wiring.capacity[arc] * stores))
                .max()
                .orElse(0);
    }

    /** Returns the moves on the longest way through a lane. */
    private static int stages(Lane lane) {
        int[] stage = new int[lane.moves().size()];
        Arrays.fill(stage, 1);
        // Moves come behind those that they wait for, but channels need not be in the order of their moves.
        List<Channel> channels = lane.channels().stream()
                .sorted(Comparator.comparingInt(Channel::from))
                .toList();
        for (Channel channel : channels) {
            stage[channel.to()] = Math.max(stage[channel.to()], stage[channel.from()] + 1);
        }
        return Arrays.stream(stage).max().orElse(0);
    }

    /** Returns the time in us from the call until the kernel on the last device begins. */
    public double launchUs() {
        return profile.get(Constant.PROGRAM_LAUNCH_US)
                + (wiring.ranks - 1) * profile.get(Constant.PROGRAM_LAUNCH_STEP_US);
    }
}
