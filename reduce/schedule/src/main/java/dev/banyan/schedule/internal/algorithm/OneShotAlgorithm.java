package dev.banyan.schedule.internal.algorithm;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.Step;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Tree;
import dev.banyan.trees.packing.PackedTree;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * An allreduce in which every device sends its data to all others and sums up all of it itself, where all pairs are
 * linked. Where devices can be laid out in rows and columns that are, as on the hybrid cube mesh, those of a row
 * exchange their data and sum it up, and then those of a column do so with the sums. All devices sum up in one order,
 * so that their results are equal to the bit. Other collectives go along the tree by which a device's data comes
 * together there: a star, or two levels.
 *
 * <p>Steps: n^2 + n with one round, for an allreduce. Depth: 1 or 2, the least of all algorithms; each device sends and
 * receives (n-1) times the data with one round. It is for data so small that only latency counts.
 *
 * <p>Source: the one-shot kernel of NVIDIA's TensorRT-LLM and of vLLM (csrc/custom_all_reduce.cuh).
 */
public final class OneShotAlgorithm implements TreeAlgorithm {
    private final int ranks;
    /** For each round and rank, the ranks that exchange. */
    private final List<int[][]> rounds;

    /** @param links which pairs of ranks are linked; of at least one rank */
    public OneShotAlgorithm(LinkMatrix links) {
        ranks = links.size();
        rounds = DirectRounds.of(links);
    }

    @Override
    public String name() {
        return "one-shot";
    }

    @Override
    public int ranks() {
        return ranks;
    }

    /** {@inheritDoc} For an allreduce, the tree by which rank 0 gets its result; all others get theirs alike. */
    @Override
    public List<PackedTree> trees(Collective collective, int root) {
        return new Meetings().trees(collective, root, ranks);
    }

    @Override
    public Schedule schedule(CollectiveRequest request) {
        if (request.collective() != Collective.ALL_REDUCE || ranks == 1) {
            return TreeAlgorithm.super.schedule(request);
        }
        return new Exchange(request).schedule();
    }

    /** The trees by which the data of all ranks comes together. */
    private final class Meetings implements Routing {
        @Override
        public List<PackedTree> anyRoot() {
            return rootedAt(0);
        }

        @Override
        public List<PackedTree> rootedAt(int root) {
            int[] parents = new int[ranks];
            for (int rank : rounds.getLast()[root]) {
                for (int other : rounds.getFirst()[rank]) {
                    parents[other] = rank;
                }
            }
            for (int rank : rounds.getLast()[root]) {
                parents[rank] = root;
            }
            parents[root] = -1;
            return List.of(PackedTree.of(BigFraction.ONE, Tree.ofParents(parents)));
        }
    }

    /** Makes one schedule. */
    private final class Exchange {
        private final CollectiveRequest request;
        private final long bytes;
        /** Bytes from the begin of an array in scratch memory to that of the next. */
        private final long stride;

        Exchange(CollectiveRequest request) {
            this.request = request;
            bytes = Math.multiplyExact(request.count(), (long) request.elementBytes());
            long unit = (long) Partition.unit(request.elementBytes()) * request.elementBytes();
            stride = Math.ceilDiv(bytes, unit) * unit;
        }

        Schedule schedule() {
            long[] edges = request.count() == 0
                    ? new long[1]
                    : Partition.chunks(request.count(), request.elementBytes(), request.chunkBytes());
            List<Chunk> chunks = new ArrayList<>();
            for (int i = 1; i < edges.length; i++) {
                long begin = edges[i - 1] * request.elementBytes();
                chunks.add(new Chunk(edges[i] * request.elementBytes() - begin, steps(begin)));
            }
            int places =
                    rounds.stream().mapToInt(groups -> groups[0].length + 1).sum() - 1;
            return new Schedule(
                    name(),
                    Collective.ALL_REDUCE,
                    ranks,
                    -1,
                    request.count(),
                    request.elementBytes(),
                    request.inPlace(),
                    places * stride,
                    chunks);
        }

        /**
         * Returns the steps of a chunk. In each round a rank copies what those of its group hold, itself among them,
         * and sums up the copies.
         */
        private List<Step> steps(long begin) {
            List<Step> steps = new ArrayList<>();
            Location[] held = IntStream.range(0, ranks)
                    .mapToObj(rank -> new Location(rank, Space.INPUT, begin))
                    .toArray(Location[]::new);
            List<List<Integer>> ready = new ArrayList<>(Collections.nCopies(ranks, List.of()));
            // In place, a result overwrites an input that all of the first round's group must have copied.
            List<List<Integer>> readers = Stream.generate(() -> (List<Integer>) new ArrayList<Integer>())
                    .limit(ranks)
                    .toList();
            int places = 0;
            for (int round = 0; round < rounds.size(); round++) {
                boolean isLast = round == rounds.size() - 1;
                int[][] groups = rounds.get(round);
                int size = groups[0].length;
                List<List<Integer>> copies = new ArrayList<>();
                for (int rank = 0; rank < ranks; rank++) {
                    List<Integer> ofRank = new ArrayList<>();
                    for (int i = 0; i < size; i++) {
                        int other = groups[rank][i];
                        ofRank.add(steps.size());
                        readers.get(other).add(steps.size());
                        steps.add(new Step(List.of(held[other]), scratch(rank, places + i, begin), ready.get(other)));
                    }
                    copies.add(ofRank);
                }
                for (int rank = 0; rank < ranks; rank++) {
                    List<Location> sources = copies.get(rank).stream()
                            .map(copy -> steps.get(copy).target())
                            .toList();
                    Set<Integer> after = new TreeSet<>(copies.get(rank));
                    if (isLast && request.inPlace()) {
                        after.addAll(readers.get(rank));
                    }
                    held[rank] = isLast ? new Location(rank, Space.OUTPUT, begin) : scratch(rank, places + size, begin);
                    ready.set(rank, List.of(steps.size()));
                    steps.add(new Step(sources, held[rank], List.copyOf(after)));
                }
                places += size + 1;
            }
            return steps;
        }

        private Location scratch(int rank, int place, long begin) {
            return new Location(rank, Space.SCRATCH, place * stride + begin);
        }
    }
}
