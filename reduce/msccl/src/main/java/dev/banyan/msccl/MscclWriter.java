package dev.banyan.msccl;

import dev.banyan.msccl.Algo.Gpu;
import dev.banyan.msccl.Algo.Threadblock;
import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.ScheduleException;
import dev.banyan.schedule.ScheduleVerifier;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.Step;
import dev.banyan.schedule.type.Collective;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.commons.numbers.core.ArithmeticUtils;

/**
 * Writes a schedule as an MSCCL algorithm, which the runtimes microsoft/msccl, Azure/msccl-executor-nccl and
 * ROCm/rccl load from a file.
 *
 * <p>The runtime divides the data into {@code nchunksperloop} equal chunks. So all ranges of the schedule must
 * be whole multiples of not too small a part of the data; {@link MscclRequests} makes such schedules. The
 * runtime takes the algorithm only for element counts that {@code nchunksperloop} divides.
 *
 * <p>A rank gets a threadblock per connection, direction and channel, and one per channel for its local
 * copies. Each route of the schedule (a tree, the chain of a ring) gets a channel of its own while channels and
 * threadblocks last: then each threadblock has one thing to do, and the runtime's loop over large data
 * pipelines by itself. Where even one channel needs more threadblocks than allowed, local copies, sends and
 * receives of a rank share threadblocks; a rank that sends to s peers and receives from r needs at least
 * max(s, r). All steps keep to one order, in which a transfer has the same place at its sender and at its
 * receiver; hence no deadlock, whatever the connections buffer. Steps wait for those of other threadblocks of
 * their rank that write what they read, or that still read or write what they overwrite.
 *
 * <p>{@code inplace} and {@code outofplace} are both 1 if the schedule is proven both ways. The file does not
 * say the root of a broadcast or a reduce, and the runtime does not ask: use it for calls with that root alone.
 * Reduce-scatter is called {@code reducescatter}, as the living runtimes want it; the archived version of
 * microsoft/msccl wants {@code reduce_scatter}.
 *
 * <p>Cost: O(c m log m) time for m copies and reductions of two operands over at most c channels.
 *
 * <p>Source of the format: M. Cowan, S. Maleki, M. Musuvathi, O. Saarikivi, Y. Xiong, "MSCCLang: Microsoft
 * Collective Communication Language", ASPLOS 2023, <a
 * href="https://doi.org/10.1145/3575693.3575724">doi:10.1145/3575693.3575724</a>, and the runtimes' parsers.
 */
public final class MscclWriter {
    private MscclWriter() {}

    /**
     * Writes a schedule under its algorithm's name with the usual options; see {@link #write(Schedule,
     * MscclOptions)}.
     */
    public static String write(Schedule schedule) {
        return write(schedule, MscclOptions.named(schedule.algorithm()));
    }

    /**
     * Writes a schedule.
     *
     * @return XML text
     * @throws ScheduleException if the schedule is wrong
     * @throws IllegalArgumentException if the format or the options have no room for it
     */
    public static String write(Schedule schedule, MscclOptions options) {
        return AlgoXml.write(algo(schedule, options), options);
    }

    static Algo algo(Schedule schedule, MscclOptions options) {
        ScheduleVerifier.verify(schedule);
        boolean otherWay = isRight(with(schedule, !schedule.inPlace()));
        boolean inPlace = schedule.inPlace() || otherWay;
        long unit = unit(schedule);
        int chunksPerLoop = chunks(larger(schedule), unit, schedule);
        List<Action> actions = ActionList.of(schedule, unit);
        List<List<Threadblock>> blocks = new ThreadblockPlanner(with(schedule, inPlace), unit, actions, options).plan();
        List<Gpu> gpus = IntStream.range(0, schedule.ranks())
                .mapToObj(rank -> gpu(schedule, unit, rank, blocks.get(rank)))
                .toList();
        return new Algo(
                options.name(),
                options.protocol(),
                schedule.collective(),
                chunksPerLoop,
                inPlace,
                !schedule.inPlace() || otherWay,
                gpus);
    }

    private static boolean isRight(Schedule schedule) {
        try {
            ScheduleVerifier.verify(schedule);
            return true;
        } catch (ScheduleException e) {
            return false;
        }
    }

    private static Schedule with(Schedule schedule, boolean inPlace) {
        return new Schedule(
                schedule.algorithm(),
                schedule.collective(),
                schedule.ranks(),
                schedule.root(),
                schedule.count(),
                schedule.elementBytes(),
                inPlace,
                schedule.scratchBytes(),
                schedule.chunks());
    }

    /** Bytes of the larger of a rank's input and output. */
    private static long larger(Schedule schedule) {
        long bytes = schedule.count() * schedule.elementBytes();
        return Algo.isByBlocks(schedule.collective()) ? bytes * schedule.ranks() : bytes;
    }

    /** Bytes of the greatest equal chunks in which all ranges are whole. */
    private static long unit(Schedule schedule) {
        long unit = schedule.count() * schedule.elementBytes();
        if (unit == 0) {
            throw new IllegalArgumentException(
                    "a schedule for no elements cannot be written for MSCCL; request it for" + " at least one");
        }
        for (Chunk chunk : schedule.chunks()) {
            unit = ArithmeticUtils.gcd(unit, chunk.bytes());
            for (Step step : chunk.steps()) {
                for (Location location : (Iterable<Location>)
                        Stream.concat(step.sources().stream(), Stream.of(step.target()))::iterator) {
                    unit = ArithmeticUtils.gcd(unit, location.offset());
                }
            }
        }
        return unit;
    }

    private static Gpu gpu(Schedule schedule, long unit, int rank, List<Threadblock> blocks) {
        boolean hasInput = schedule.collective() != Collective.BROADCAST || rank == schedule.root();
        boolean hasOutput = schedule.collective() != Collective.REDUCE || rank == schedule.root();
        long block = schedule.count() * schedule.elementBytes();
        long input = schedule.collective().inputElements(block, schedule.ranks());
        long output = schedule.collective().outputElements(block, schedule.ranks());
        long scratch = schedule.chunks().stream()
                .flatMap(chunk -> chunk.steps().stream()
                        .flatMap(step ->
                                step.target().rank() == rank && step.target().space() == Space.SCRATCH
                                        ? Stream.of(step.target().offset() + chunk.bytes())
                                        : Stream.empty()))
                .max(Long::compare)
                .orElse(0L);
        return new Gpu(
                rank,
                hasInput ? chunks(input, unit, schedule) : 0,
                hasOutput ? chunks(output, unit, schedule) : 0,
                chunks(scratch, unit, schedule),
                blocks);
    }

    private static int chunks(long bytes, long unit, Schedule schedule) {
        if (bytes / unit > Limits.CHUNKS) {
            throw new IllegalArgumentException("the " + schedule.algorithm() + " schedule for "
                    + schedule.collective().label() + " has to be cut into " + bytes / unit
                    + " equal chunks, and MSCCL takes " + Limits.CHUNKS
                    + "; request it for fewer elements of more bytes (see MscclRequests)");
        }
        return Math.toIntExact(bytes / unit);
    }
}
