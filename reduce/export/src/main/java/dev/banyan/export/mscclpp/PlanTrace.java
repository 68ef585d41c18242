package dev.banyan.export.mscclpp;

import dev.banyan.InputException;
import dev.banyan.export.mscclpp.MscclppPlan.Block;
import dev.banyan.export.mscclpp.MscclppPlan.Gpu;
import dev.banyan.export.mscclpp.MscclppPlan.Loop;
import dev.banyan.export.mscclpp.MscclppPlan.Operation;
import dev.banyan.export.mscclpp.MscclppPlan.Reference;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.ScheduleVerifier;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.type.Collective;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Follows a plan through two launches to find out whether it is right in every order of its thread blocks, and turns it
 * into a schedule. Each channel is signalled by one block and awaited by one block, so that the k-th wait is for the
 * k-th signal; what happens before what follows from that, from the order of a block and from the end of a launch on a
 * rank. Pipelines run twice, on halves of their chunks. It finds signals without waits and waits without signals,
 * missing {@code nop}s, and accesses to the same memory that nothing orders, within a launch and between two.
 */
public final class PlanTrace {
    private static final long MOST_ACCESSES = 4_000_000;

    private final String source;
    private final MscclppPlan plan;
    /** A schedule without steps, which knows where memory is. */
    private final Schedule layout;

    private final int ranks;
    private final List<Runner> runners = new ArrayList<>();
    /** By rank, then channel: what is known at each signal that no wait has taken, and the loop that it is in. */
    private final List<List<Deque<Signal>>> signals = new ArrayList<>();

    private final Map<Location, Accesses> memory = new HashMap<>();
    private final List<StepGraph.Move> moves = new ArrayList<>();
    private final int[][] partners;
    private final Map<Integer, Integer> users = new HashMap<>();

    private long checked;

    private record Signal(int[] clock, String loop) {}

    /** Accesses of one element of memory since it was written last. */
    private static final class Accesses {
        private int writer = -1;
        private int writeTime;
        private final Map<Integer, Integer> reads = new HashMap<>();
    }

    private PlanTrace(String source, MscclppPlan plan) {
        this.source = source;
        this.plan = plan;
        layout = StepGraph.schedule(plan, List.of(), plan.collective().hasRoot() ? 0 : -1);
        ranks = plan.gpus().size();
        partners = new int[ranks][];
        for (int rank = 0; rank < ranks; rank++) {
            Gpu gpu = plan.gpus().get(rank);
            List<Deque<Signal>> arrived = new ArrayList<>();
            gpu.channels().forEach(_ -> arrived.add(new ArrayDeque<>()));
            signals.add(arrived);
            int self = rank;
            partners[rank] = IntStream.range(0, gpu.channels().size())
                    .map(channel -> partner(self, channel))
                    .toArray();
        }
        for (int rank = 0; rank < ranks; rank++) {
            for (int block = 0; block < plan.gpus().get(rank).blocks().size(); block++) {
                runners.add(new Runner(rank, block, runners.size()));
            }
        }
    }

    /** Returns the channel of the peer that is paired with a rank's: the i-th to each other. */
    private int partner(int rank, int channel) {
        List<Integer> peers = plan.gpus().get(rank).channels();
        int peer = peers.get(channel);
        List<Integer> back = plan.gpus().get(peer).channels();
        long before = peers.subList(0, channel).stream()
                .filter(other -> other == peer)
                .count();
        return IntStream.range(0, back.size())
                .filter(other -> back.get(other) == rank)
                .skip(before)
                .findFirst()
                .orElseThrow(() -> wrong("GPU " + rank + " has more channels to GPU " + peer + " than GPU " + peer
                        + " has to it; add them at both ends"));
    }

    /**
     * Proves a plan and returns it as a schedule whose elements are halves of chunks.
     *
     * @param source name of the file, for messages
     * @throws InputException if blocks don't work together: the message says where and what to do
     * @throws dev.banyan.schedule.ScheduleException if the result is wrong
     */
    public static Schedule schedule(String source, MscclppPlan plan) {
        PlanTrace trace = new PlanTrace(source, plan);
        trace.launch(true);
        trace.launch(false);
        Schedule schedule = StepGraph.schedule(plan, trace.moves, trace.root());
        ScheduleVerifier.verify(schedule);
        return schedule;
    }

    private InputException wrong(String problem) {
        return new InputException(source, 0, 0, problem);
    }

    /** Returns the only rank whose input a broadcast reads; -1 for other collectives. */
    private int root() {
        if (plan.collective() != Collective.BROADCAST) {
            return -1;
        }
        List<Integer> roots = moves.stream()
                .flatMap(move -> move.sources().stream())
                .filter(location -> location.space() == Space.INPUT)
                .map(Location::rank)
                .distinct()
                .toList();
        if (roots.size() != 1) {
            throw wrong("a broadcast has to read the input of one rank, and this one reads those of " + roots);
        }
        return roots.getFirst();
    }

    private void launch(boolean first) {
        int[][] ends = new int[ranks][runners.size()];
        for (Runner runner : runners) {
            join(ends[runner.rank], runner.clock);
        }
        runners.forEach(runner -> runner.begin(ends[runner.rank], first));
        boolean moved = true;
        while (moved) {
            moved = false;
            for (Runner runner : runners) {
                while (runner.canGoOn()) {
                    runner.step();
                    moved = true;
                }
            }
        }
        for (Runner runner : runners) {
            if (!runner.hasEnded()) {
                throw wrong(
                        runner.name() + " waits for ever at " + runner.current().name() + "; add the signal");
            }
        }
        for (int rank = 0; rank < ranks; rank++) {
            for (int channel = 0; channel < partners[rank].length; channel++) {
                if (!signals.get(rank).get(channel).isEmpty()) {
                    throw wrong("channel " + channel + " of GPU " + rank + " has more signals than waits in a launch;"
                            + " make them equal, since the counters live on");
                }
            }
        }
    }

    private static void join(int[] clock, int[] other) {
        for (int i = 0; i < other.length; i++) {
            clock[i] = Math.max(clock[i], other[i]);
        }
    }

    /** A thread block on its way. */
    private final class Runner {
        private final int rank;
        private final int id;
        private final int index;
        private final Block block;
        private int[] clock;
        private int[] begin;
        private List<Entry> entries = List.of();
        private int at;
        private boolean waited;
        private boolean recorded;
        private final Map<Location, Boolean> sinceNop = new HashMap<>();

        /** An operation, the half of the chunks that it works on or -1 for all, and the loop that it is in. */
        private record Entry(Operation operation, int half, String loop) {}

        Runner(int rank, int id, int index) {
            this.rank = rank;
            this.id = id;
            this.index = index;
            block = plan.gpus().get(rank).blocks().get(id);
            clock = new int[0];
            begin = clock;
        }

        String name() {
            return "thread block " + id + " of GPU " + rank;
        }

        void begin(int[] ended, boolean first) {
            clock = ended.clone();
            begin = ended;
            at = 0;
            waited = false;
            recorded = first;
            sinceNop.clear();
            entries = new ArrayList<>();
            for (Operation operation : block.operations()) {
                Loop loop = operation.loop();
                if (loop == null) {
                    entries.add(new Entry(operation, -1, ""));
                } else {
                    String key = loop.unitBytes() + " bytes of " + loop.chunks() + " chunks";
                    for (int half = 0; half < 2; half++) {
                        for (Operation inner : loop.operations()) {
                            entries.add(new Entry(inner, half, key));
                        }
                    }
                }
            }
        }

        boolean hasEnded() {
            return at == entries.size();
        }

        Operation current() {
            return entries.get(at).operation();
        }

        boolean canGoOn() {
            return !hasEnded()
                    && (!current().name().endsWith("wait")
                            || current().channels().stream()
                                    .noneMatch(channel -> signals.get(rank)
                                            .get(block.channels().get(channel))
                                            .isEmpty()));
        }

        void step() {
            Entry entry = entries.get(at++);
            Operation operation = entry.operation();
            clock[index]++;
            switch (operation.name()) {
                case "nop" -> {
                    sinceNop.clear();
                    waited = false;
                }
                case "signal", "rlxsignal" -> {
                    boolean relaxed = operation.name().equals("rlxsignal");
                    if (!relaxed && !sinceNop.isEmpty()) {
                        throw wrong(name() + " signals right after an access to memory; put a nop between");
                    }
                    for (int position : operation.channels()) {
                        int channel = block.channels().get(position);
                        claim(rank, channel, 0);
                        int peer = plan.gpus().get(rank).channels().get(channel);
                        signals.get(peer)
                                .get(partners[rank][channel])
                                .add(new Signal(relaxed ? begin : clock.clone(), entry.loop()));
                    }
                }
                case "wait", "rlxwait" -> {
                    for (int position : operation.channels()) {
                        int channel = block.channels().get(position);
                        claim(rank, channel, 1);
                        Signal signal = signals.get(rank).get(channel).remove();
                        if (!signal.loop().equals(entry.loop())) {
                            throw wrong(name() + " waits in a loop over " + entry.loop() + " for a signal in one over "
                                    + signal.loop() + "; make the loops equal");
                        }
                        // A relaxed wait orders no data, but the peer's launch before has ended.
                        join(clock, operation.name().equals("wait") ? signal.clock() : ended(signal.clock()));
                    }
                    waited = true;
                }
                default -> data(operation, entry.half());
            }
        }

        /**
         * Returns what was known when the launch of the channel's other end began: all of a signal's earlier launches.
         */
        private int[] ended(int[] known) {
            int[] least = known.clone();
            for (Runner other : runners) {
                least[other.index] = Math.min(least[other.index], other.begin[other.index]);
            }
            return least;
        }

        private void claim(int owner, int channel, int use) {
            int key = (owner * 4096 + channel) * 2 + use;
            Integer other = users.putIfAbsent(key, index);
            if (other != null && other != index) {
                throw wrong(name() + " and " + runners.get(other).name() + " both use channel " + channel + " of GPU "
                        + owner + " in the same way, so that signals get mixed up; give each a channel");
            }
        }

        private void data(Operation operation, int half) {
            if (waited) {
                throw wrong(name() + " accesses memory right after a wait; put a nop between");
            }
            boolean each = operation.name().equals("put") || operation.name().equals("copy");
            int size = operation.sources().getFirst().size();
            int from = half < 0 ? 0 : half * size;
            int to = half < 0 ? 2 * size : from + size;
            checked += (long) (to - from)
                    * (operation.sources().size() + operation.targets().size());
            if (checked > MOST_ACCESSES) {
                throw wrong("its operations access more than " + MOST_ACCESSES + " chunks, too many to check");
            }
            int[] now = clock.clone();
            List<Location> read = new ArrayList<>();
            List<Location> written = new ArrayList<>();
            for (int element = from; element < to; element++) {
                int shift = element;
                List<Location> sources = operation.sources().stream()
                        .map(reference -> location(reference, shift))
                        .toList();
                List<Location> targets = operation.targets().stream()
                        .map(reference -> location(reference, shift))
                        .toList();
                read.addAll(sources);
                written.addAll(targets);
                if (!recorded) {
                    continue;
                }
                for (int i = 0; i < targets.size(); i++) {
                    List<Location> of = each ? List.of(sources.get(i)) : i == 0 ? sources : List.of(targets.getFirst());
                    moves.add(new StepGraph.Move(of, targets.get(i), index, now));
                }
            }
            read.forEach(location -> access(location, false));
            written.forEach(location -> access(location, true));
            read.forEach(location -> sinceNop.putIfAbsent(location, false));
            written.forEach(location -> sinceNop.put(location, true));
        }

        private Location location(Reference reference, int element) {
            int owner = rank;
            String type = reference.type();
            if (!reference.isOwn()) {
                MscclppPlan.Remote remote =
                        plan.gpus().get(rank).remotes().get(block.remotes().get(reference.remote()));
                owner = remote.rank();
                type = remote.type();
            }
            Gpu gpu = plan.gpus().get(owner);
            int limit =
                    type.equals("i") ? gpu.inputChunks() : type.equals("o") ? gpu.outputChunks() : gpu.scratchChunks();
            if (reference.index() + reference.size() > limit) {
                throw wrong(name() + " reaches chunk " + (reference.index() + reference.size() - 1) + " of " + limit
                        + " of GPU " + owner + "; stay inside");
            }
            Space space = type.equals("i") ? Space.INPUT : type.equals("o") ? Space.OUTPUT : Space.SCRATCH;
            return new Location(owner, space, 2L * reference.index() + element);
        }

        private void access(Location location, boolean write) {
            Location place = layout.inBuffers(location);
            Boolean before = sinceNop.get(location);
            if (before != null && (write || before)) {
                throw wrong(name() + " accesses the same memory twice, writing; put a nop between");
            }
            Accesses accesses = memory.computeIfAbsent(place, _ -> new Accesses());
            boolean ordered =
                    accesses.writer < 0 || accesses.writer == index || clock[accesses.writer] >= accesses.writeTime;
            if (write) {
                ordered &= accesses.reads.entrySet().stream()
                        .allMatch(entry -> entry.getKey() == index || clock[entry.getKey()] >= entry.getValue());
                accesses.writer = index;
                accesses.writeTime = clock[index];
                accesses.reads.clear();
            } else {
                accesses.reads.put(index, clock[index]);
            }
            if (!ordered) {
                throw wrong(name() + " and another thread block access chunk " + location.offset() / 2 + " of GPU "
                        + location.rank() + "'s " + location.space().name().toLowerCase(Locale.ROOT)
                        + " memory in any order, one of them writing; add a signal and a wait"
                        + (recorded ? "" : ", at the start if the launch before may still read"));
            }
        }
    }
}
