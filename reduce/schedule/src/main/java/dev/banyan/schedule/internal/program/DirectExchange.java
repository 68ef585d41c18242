package dev.banyan.schedule.internal.program;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.ScheduleVerifier;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.Step;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * A schedule whose results follow from inputs at once: each rank loads inputs of any ranks, combines them, and stores
 * the result to outputs of any ranks. It needs two barriers and nothing else: one before the first load, one behind the
 * last store. Allreduces are so where each rank is the centre of a star for its share (two-shot), or has all of the
 * result (one-shot).
 *
 * @param schedule what it carries out
 * @param shares what each rank does; no two of them touch a byte that one of them stores
 */
public record DirectExchange(Schedule schedule, List<Share> shares) {

    /** Kernels take the addresses of 16 buffers each way, of which one is the multicast address. */
    private static final int MOST_RANKS_IN_A_SWITCH = 15;

    /** Two ranks move more bytes through a switch that adds up than to each other. */
    private static final int LEAST_RANKS_IN_A_SWITCH = 3;

    /** Returns whether so many ranks let a switch add up and copy. */
    public static boolean takesSwitch(int ranks) {
        return ranks >= LEAST_RANKS_IN_A_SWITCH && ranks <= MOST_RANKS_IN_A_SWITCH;
    }

    /**
     * Returns whether a switch combines elements as kernels do, but for the order of sums of floats. Means of 16-bit
     * floats are excluded, as their sums could overflow.
     */
    public static boolean combinesInSwitch(DataType type, ReduceOp op) {
        return switch (type) {
            case F32 -> op == ReduceOp.SUM || op == ReduceOp.AVG;
            case F16, BF16 -> op == ReduceOp.SUM;
            case I32, I64 -> op == ReduceOp.SUM || op == ReduceOp.MIN || op == ReduceOp.MAX;
            case F64, I8, U8 -> false;
        };
    }

    /**
     * Elements that a rank combines.
     *
     * @param rank that loads and stores
     * @param sources inputs, which are combined in this order
     * @param targets outputs
     * @param bytes of each of them
     */
    public record Share(int rank, List<Location> sources, List<Location> targets, long bytes) {
        public Share {
            sources = List.copyOf(sources);
            targets = List.copyOf(targets);
        }

        /** Returns whether another share begins in all places where this one ends. */
        private boolean isFollowedBy(Share next) {
            return rank == next.rank && follow(sources, next.sources) && follow(targets, next.targets);
        }

        private boolean follow(List<Location> mine, List<Location> others) {
            if (mine.size() != others.size()) {
                return false;
            }
            for (int i = 0; i < mine.size(); i++) {
                Location end = mine.get(i);
                if (!new Location(end.rank(), end.space(), end.offset() + bytes).equals(others.get(i))) {
                    return false;
                }
            }
            return true;
        }
    }

    public DirectExchange {
        Objects.requireNonNull(schedule, "schedule");
        shares = List.copyOf(shares);
    }

    /**
     * Returns a schedule in this form, or nothing if some result needs partial results of other ranks, is relayed by a
     * rank, or overwrites the input of another share.
     *
     * @param schedule a schedule that {@link dev.banyan.schedule.ScheduleVerifier} has proved
     */
    public static Optional<DirectExchange> of(Schedule schedule) {
        List<Share> shares = new ArrayList<>();
        for (Chunk chunk : schedule.chunks()) {
            List<Share> ofChunk = new Reading(schedule).shares(chunk);
            if (ofChunk.isEmpty()) {
                return Optional.empty();
            }
            shares.addAll(ofChunk);
        }
        return Optional.of(new DirectExchange(schedule, joined(shares)));
    }

    /**
     * Proves the exchange: that its results are those of the collective, by the same expression on every rank.
     *
     * @throws dev.banyan.schedule.ScheduleException if they are not
     */
    public void verify() {
        ScheduleVerifier.verify(asSchedule());
    }

    /** Returns a schedule of what the ranks do, in which a result is in scratch memory before it is stored. */
    private Schedule asSchedule() {
        long scratch = 0;
        List<Chunk> chunks = new ArrayList<>();
        for (Share share : shares) {
            Location result = new Location(share.rank(), Space.SCRATCH, scratch);
            scratch += share.bytes();
            List<Step> steps = new ArrayList<>();
            steps.add(new Step(share.sources(), result, List.of()));
            for (Location target : share.targets()) {
                steps.add(new Step(List.of(result), target, List.of(0)));
            }
            chunks.add(new Chunk(share.bytes(), steps));
        }
        return ProgramSchedule.of(schedule, scratch, chunks);
    }

    /**
     * Returns whether a schedule has so much data that an exchange could take less time than a device program.
     *
     * @param sizes by which programs are cut: what these carry in lines takes less time
     */
    public static boolean isLongEnough(Schedule schedule, ProgramSizes sizes) {
        return schedule.ranks() > 1 && bytes(schedule) > sizes.lowLatencyBytes();
    }

    /**
     * Returns whether a share alone combines what is in the same place of all ranks, as a switch may do for it. For
     * several ranks that combine the same, a switch would load more than these do, and could give them other bits.
     */
    public boolean loadsFromAll(Share share) {
        return share.sources().size() > 1
                && isOnAll(share.sources())
                && shares.stream()
                        .noneMatch(other -> other.rank() != share.rank()
                                && other.sources().contains(share.sources().getFirst()));
    }

    /** Returns whether a share has its result in the same place of all ranks, to which a switch may copy it. */
    public boolean storesToAll(Share share) {
        List<Location> places = new ArrayList<>(share.targets());
        if (share.sources().size() == 1) {
            // In place, the source is where the result is to be.
            places.addFirst(share.sources().getFirst());
        }
        return isOnAll(share.targets()) || isOnAll(places);
    }

    private boolean isOnAll(List<Location> places) {
        Location first = schedule.inBuffers(places.getFirst());
        long ranks = places.stream()
                .map(schedule::inBuffers)
                .filter(place -> place.space() == first.space() && place.offset() == first.offset())
                .map(Location::rank)
                .distinct()
                .count();
        return places.size() == ranks && ranks == schedule.ranks();
    }

    private static long bytes(Schedule schedule) {
        return schedule.collective().inputElements(schedule.count(), schedule.ranks()) * schedule.elementBytes();
    }

    /** Joins shares that follow each other in memory. */
    private static List<Share> joined(List<Share> shares) {
        List<Share> joined = new ArrayList<>();
        // The last share by the place of its first target's end.
        Map<Location, Integer> ends = new HashMap<>();
        for (Share share : shares) {
            Location begin = share.targets().getFirst();
            Integer before = ends.remove(begin);
            int index = joined.size();
            if (before != null && joined.get(before).isFollowedBy(share)) {
                Share first = joined.get(before);
                joined.set(
                        before,
                        new Share(first.rank(), first.sources(), first.targets(), first.bytes() + share.bytes()));
                index = before;
            } else {
                joined.add(share);
            }
            ends.put(new Location(begin.rank(), begin.space(), begin.offset() + share.bytes()), index);
        }
        return joined;
    }

    /** Reads one chunk. */
    private static final class Reading {
        private final Schedule schedule;
        /** Inputs that were copied to scratch memory, by their place there. */
        private final Map<Location, Location> copies = new HashMap<>();
        /** The share whose result a place has. */
        private final Map<Location, Integer> results = new HashMap<>();

        private final List<List<Location>> sources = new ArrayList<>();
        private final List<List<Location>> targets = new ArrayList<>();
        private final List<Integer> ranks = new ArrayList<>();

        Reading(Schedule schedule) {
            this.schedule = schedule;
        }

        /** Returns the shares of a chunk, or none if it has another form. */
        List<Share> shares(Chunk chunk) {
            for (Step step : chunk.steps()) {
                if (!read(step)) {
                    return List.of();
                }
            }
            if (overwritesOthersInputs()) {
                return List.of();
            }
            List<Share> shares = new ArrayList<>();
            for (int share = 0; share < sources.size(); share++) {
                shares.add(new Share(ranks.get(share), sources.get(share), targets.get(share), chunk.bytes()));
            }
            return shares;
        }

        private boolean read(Step step) {
            List<Location> from = step.sources().stream()
                    .map(source -> copies.getOrDefault(source, source))
                    .toList();
            if (!step.reduces()) {
                Integer known = results.get(schedule.inBuffers(from.getFirst()));
                if (known != null
                        && step.target().space() == Space.OUTPUT
                        && ranks.get(known) == from.getFirst().rank()) {
                    add(known, step.target());
                    return true;
                }
            }
            if (from.stream().anyMatch(this::isNoInput)) {
                return false;
            }
            if (step.target().space() == Space.SCRATCH) {
                return !step.reduces() && copies.put(step.target(), from.getFirst()) == null;
            }
            // Copies of one input are stores of the rank that has it.
            int rank = step.reduces() ? step.target().rank() : from.getFirst().rank();
            int share = step.reduces() ? -1 : sources.indexOf(from);
            if (share < 0) {
                share = sources.size();
                sources.add(from);
                targets.add(new ArrayList<>());
                ranks.add(rank);
            }
            add(share, step.target());
            return true;
        }

        private void add(int share, Location target) {
            targets.get(share).add(target);
            results.put(schedule.inBuffers(target), share);
        }

        private boolean isNoInput(Location source) {
            return source.space() != Space.INPUT || results.containsKey(schedule.inBuffers(source));
        }

        private boolean overwritesOthersInputs() {
            for (int share = 0; share < sources.size(); share++) {
                for (Location source : sources.get(share)) {
                    Integer writer = results.get(schedule.inBuffers(source));
                    if (writer != null && writer != share) {
                        return true;
                    }
                }
            }
            return false;
        }
    }
}
