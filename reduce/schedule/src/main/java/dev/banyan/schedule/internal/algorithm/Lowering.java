package dev.banyan.schedule.internal.algorithm;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.Step;
import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.packing.PackedTree;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Turns trees into the steps of one request; used once.
 *
 * <p>Going up, a device combines its own input with the partial results of its children in one step, in the order of
 * {@link dev.banyan.trees.Tree#children}; the partial result of a leaf is its input, which is not copied. Partial
 * results of an allreduce lie in the output, which the way down overwrites. Those of other collectives lie in scratch
 * memory if the output has another use. Going down, a device copies from its parent.
 *
 * <p>An allreduce's way down needs no further dependencies: what it overwrites was read by a step on which the root's
 * result depends.
 */
final class Lowering {
    private final String name;
    private final int ranks;
    private final CollectiveRequest request;
    private final Collective collective;
    private final long[] scratch;
    private final List<List<Chunk>> slices = new ArrayList<>();

    Lowering(String name, int ranks, CollectiveRequest request) {
        if (request.root() >= ranks) {
            throw new IllegalArgumentException("root " + request.root() + " for "
                    + request.collective().label() + "; the ranks are 0.." + (ranks - 1));
        }
        this.name = name;
        this.ranks = ranks;
        this.request = request;
        collective = request.collective();
        scratch = new long[ranks];
    }

    /**
     * Returns the schedule.
     *
     * @param trees as {@link TreeAlgorithm#trees} says
     */
    Schedule lower(List<PackedTree> trees) {
        long bytes = Math.multiplyExact(request.count(), (long) request.elementBytes());
        if (collective == Collective.ALL_REDUCE) {
            addBlock(trees, 0, 0);
        } else {
            Map<Integer, List<PackedTree>> byRoot = trees.stream().collect(Collectors.groupingBy(PackedTree::root));
            switch (collective) {
                case REDUCE_SCATTER -> {
                    for (int owner = 0; owner < ranks; owner++) {
                        addBlock(rootedAt(owner, byRoot), Math.multiplyExact(owner, bytes), 0);
                    }
                }
                case ALL_GATHER -> {
                    for (int owner = 0; owner < ranks; owner++) {
                        addBlock(rootedAt(owner, byRoot), 0, Math.multiplyExact(owner, bytes));
                    }
                }
                default -> addBlock(rootedAt(request.root(), byRoot), 0, 0);
            }
        }
        return new Schedule(
                name,
                collective,
                ranks,
                request.root(),
                request.count(),
                request.elementBytes(),
                request.inPlace(),
                mostScratch(),
                interleaved());
    }

    private List<PackedTree> rootedAt(int root, Map<Integer, List<PackedTree>> byRoot) {
        List<PackedTree> trees = byRoot.get(root);
        if (trees == null) {
            throw new IllegalArgumentException("no tree of " + name + " has root " + root
                    + ", so nothing carries its part of " + collective.label());
        }
        return trees;
    }

    /** Adds {@code count} elements that begin at these bytes of the inputs and outputs. */
    private void addBlock(List<PackedTree> trees, long input, long output) {
        long[] edges = Partition.slices(request.count(), request.elementBytes(), trees);
        for (int i = 0; i < trees.size(); i++) {
            long start = edges[i] * request.elementBytes();
            long length = edges[i + 1] - edges[i];
            if (length > 0) {
                List<Step> steps = new Slice(trees.get(i), input + start, output + start, length).steps();
                if (!steps.isEmpty()) {
                    slices.add(chunks(steps, length));
                }
            }
        }
    }

    private List<Chunk> chunks(List<Step> steps, long length) {
        long[] edges = Partition.chunks(length, request.elementBytes(), request.chunkBytes());
        List<Chunk> chunks = new ArrayList<>(edges.length - 1);
        for (int i = 1; i < edges.length; i++) {
            long shift = edges[i - 1] * request.elementBytes();
            // A loop instead of a stream: choices between schedules spend most of their time here.
            Step[] moved = new Step[steps.size()];
            for (int step = 0; step < moved.length; step++) {
                moved[step] = shifted(steps.get(step), shift);
            }
            chunks.add(new Chunk((edges[i] - edges[i - 1]) * request.elementBytes(), List.of(moved)));
        }
        return chunks;
    }

    private static Step shifted(Step step, long bytes) {
        Location[] sources = new Location[step.sources().size()];
        for (int source = 0; source < sources.length; source++) {
            sources[source] = shifted(step.sources().get(source), bytes);
        }
        return new Step(List.of(sources), shifted(step.target(), bytes), step.after());
    }

    private static Location shifted(Location location, long bytes) {
        return new Location(location.rank(), location.space(), location.offset() + bytes);
    }

    /**
     * Returns the slices' chunks ordered by their position within their slice, so that all trees end together and
     * backends that keep the order use all trees at once.
     */
    private List<Chunk> interleaved() {
        List<Placed> placed = new ArrayList<>();
        for (List<Chunk> slice : slices) {
            for (int i = 0; i < slice.size(); i++) {
                placed.add(new Placed((i + 0.5) / slice.size(), slice.get(i)));
            }
        }
        Collections.sort(placed);
        Chunk[] chunks = new Chunk[placed.size()];
        for (int i = 0; i < chunks.length; i++) {
            chunks[i] = placed.get(i).chunk();
        }
        return List.of(chunks);
    }

    /** A chunk and the position of its middle within its slice, between 0 and 1, by which chunks are ordered. */
    private record Placed(double progress, Chunk chunk) implements Comparable<Placed> {
        @Override
        public int compareTo(Placed other) {
            return Double.compare(progress, other.progress);
        }
    }

    private long mostScratch() {
        long most = 0;
        for (long bytes : scratch) {
            most = Math.max(most, bytes);
        }
        return most;
    }

    private long allocateScratch(int rank, long bytes) {
        int unit = Partition.unit(request.elementBytes()) * request.elementBytes();
        long start = Math.ceilDiv(scratch[rank], (long) unit) * unit;
        scratch[rank] = start + bytes;
        return start;
    }

    /** The steps of one slice as one chunk. */
    private final class Slice {
        private static final int AT_START = -1;

        private final PackedTree tree;
        private final long output;
        private final long bytes;
        private final List<Step> steps = new ArrayList<>();
        /** The current location of each rank's contribution or result. */
        private final Location[] held = new Location[ranks];
        /** The step that puts it there. */
        private final int[] ready = new int[ranks];

        Slice(PackedTree tree, long input, long output, long elements) {
            this.tree = tree;
            this.output = output;
            bytes = elements * request.elementBytes();
            for (int rank = 0; rank < ranks; rank++) {
                held[rank] = new Location(rank, Space.INPUT, input);
            }
            Arrays.fill(ready, AT_START);
        }

        List<Step> steps() {
            if (collective.reduces()) {
                reduceUp();
            }
            if (collective != Collective.REDUCE && collective != Collective.REDUCE_SCATTER) {
                broadcastDown();
            }
            return steps;
        }

        private void reduceUp() {
            int[] topDown = tree.up().topDown();
            for (int i = ranks - 1; i >= 0; i--) {
                int rank = topDown[i];
                int[] children = tree.up().children(rank);
                if (children.length == 0) {
                    continue;
                }
                List<Location> sources = new ArrayList<>(children.length + 1);
                List<Integer> after = new ArrayList<>(children.length);
                sources.add(held[rank]);
                for (int child : children) {
                    sources.add(held[child]);
                    if (ready[child] != AT_START) {
                        after.add(ready[child]);
                    }
                }
                emit(sources, partialResult(rank), after);
            }
            if (ranks == 1) {
                copyInputOfRoot();
            }
        }

        private Location partialResult(int rank) {
            return rank == tree.root() || collective == Collective.ALL_REDUCE
                    ? new Location(rank, Space.OUTPUT, output)
                    : new Location(rank, Space.SCRATCH, allocateScratch(rank, bytes));
        }

        private void broadcastDown() {
            if (!collective.reduces()) {
                copyInputOfRoot();
            }
            for (int rank : tree.down().topDown()) {
                if (rank != tree.root()) {
                    int parent = tree.down().parent(rank);
                    List<Integer> after = ready[parent] == AT_START ? List.of() : List.of(ready[parent]);
                    emit(List.of(held[parent]), new Location(rank, Space.OUTPUT, output), after);
                }
            }
        }

        /** Copies the root's input; children read the input itself and need not wait for the copy. */
        private void copyInputOfRoot() {
            if (!request.inPlace()) {
                int root = tree.root();
                steps.add(new Step(List.of(held[root]), new Location(root, Space.OUTPUT, output), List.of()));
            }
        }

        private void emit(List<Location> sources, Location target, List<Integer> after) {
            held[target.rank()] = target;
            ready[target.rank()] = steps.size();
            steps.add(new Step(sources, target, after));
        }
    }
}
