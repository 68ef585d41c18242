package dev.banyan.export.mscclpp;

import dev.banyan.export.mscclpp.MscclppPlan.Block;
import dev.banyan.export.mscclpp.MscclppPlan.Gpu;
import dev.banyan.export.mscclpp.MscclppPlan.Operation;
import dev.banyan.export.mscclpp.MscclppPlan.Reference;
import dev.banyan.export.mscclpp.MscclppPlan.Remote;
import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.Tree;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * Makes a plan of trees. A rank has a block for the way up of a group of trees, and one for their way down; a root
 * sends down from its block of the way up. A block takes its trees one after another, unit by unit, in an order that
 * all ranks share, so that the first tree can always go on. A rank has its own scratch memory for each child's partial
 * results and for its parent's result of each tree, as long as the tree's share, so that a sender never waits within a
 * launch. At the beginning of a launch every receiver reports to its senders that its launch before has ended.
 */
public final class TreeCompiler {
    /** Bytes of a unit of a pipeline. */
    private static final long UNIT_BYTES = 128 << 10;
    /** More blocks than a V100 has multiprocessors (80) might not run at once; some are left to other kernels. */
    private static final int MOST_BLOCKS = 64;

    private final ChunkedTrees trees;
    private final Collective collective;
    private final int ranks;
    private final int groups;
    private final int[] scratch;
    private final List<Map<Edge, Integer>> channelIndices = new ArrayList<>();
    private final List<List<Integer>> channelPeers = new ArrayList<>();
    /** By tree: the first chunk of the slot that a rank's contribution goes to at its parent; -1 without one. */
    private final int[][] slotsUp;
    /** By tree: the first chunk of a rank's slot for its parent's result. */
    private final int[][] slotsDown;
    /** By tree: the first chunk of a rank's own partial result, in reduce_scatter. */
    private final int[][] slotsOwn;

    /** The ways of data; what a root sends down comes from another block than what others send down. */
    private enum Way {
        UP,
        FROM_ROOT,
        DOWN
    }

    /** A directed channel of a group of trees. */
    private record Edge(int group, Way way, int from, int to) {}

    private TreeCompiler(ChunkedTrees trees) {
        this.trees = trees;
        collective = trees.collective();
        ranks = trees.trees().getFirst().tree().up().size();
        groups = Math.min(trees.trees().size(), spreads() ? MOST_BLOCKS / 2 : MOST_BLOCKS);
        scratch = new int[ranks];
        int count = trees.trees().size();
        slotsUp = new int[count][ranks];
        slotsDown = new int[count][ranks];
        slotsOwn = new int[count][ranks];
        for (int rank = 0; rank < ranks; rank++) {
            channelIndices.add(new LinkedHashMap<>());
            channelPeers.add(new ArrayList<>());
        }
    }

    /**
     * Makes a plan.
     *
     * @param name unique per content
     * @throws IllegalArgumentException if the executor's limits exclude it: the message says which and what to do
     */
    public static MscclppPlan compile(String name, ChunkedTrees trees, boolean inPlace) {
        MscclppPlan.label(trees.collective());
        return new TreeCompiler(trees).plan(name, inPlace);
    }

    private boolean spreads() {
        return collective != Collective.REDUCE_SCATTER;
    }

    private MscclppPlan plan(String name, boolean inPlace) {
        for (int tree = 0; tree < slotsUp.length; tree++) {
            prepare(tree);
        }
        int scratchChunks = Math.max(1, Arrays.stream(scratch).max().orElse(0));
        boolean blocks = collective == Collective.ALL_GATHER || collective == Collective.REDUCE_SCATTER;
        int input = collective == Collective.REDUCE_SCATTER ? trees.chunks() * ranks : trees.chunks();
        int output = collective == Collective.ALL_GATHER ? trees.chunks() * ranks : trees.chunks();
        long least = (long) MscclppPlan.ALIGNMENT * trees.chunks() * (blocks ? ranks : 1);
        long times = MscclppPlan.SCRATCH_BYTES / scratchChunks / MscclppPlan.ALIGNMENT;
        List<Gpu> gpus = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            int self = rank;
            List<Remote> remotes = IntStream.range(0, ranks)
                    .filter(peer -> peer != self)
                    .mapToObj(peer -> new Remote(peer, "s"))
                    .toList();
            List<Block> made = new ArrayList<>();
            for (int group = 0; group < groups; group++) {
                upBlock(rank, group).ifAnyAddTo(made);
                if (spreads()) {
                    downBlock(rank, group).ifAnyAddTo(made);
                }
            }
            gpus.add(new Gpu(input, output, scratchChunks, channelPeers.get(rank), remotes, made));
        }
        return new MscclppPlan(name, collective, inPlace, least, least * times, gpus);
    }

    /** Lays out the slots and the channels of a tree. */
    private void prepare(int index) {
        ChunkedTrees.Part part = trees.trees().get(index);
        int group = index % groups;
        Arrays.fill(slotsUp[index], -1);
        for (int rank = 0; rank < ranks; rank++) {
            int parent = part.tree().up().parent(rank);
            if (collective.reduces() && parent >= 0) {
                slotsUp[index][rank] = allocate(parent, part.length());
                connect(new Edge(group, Way.UP, rank, parent));
                if (!spreads() && part.tree().up().children(rank).length > 0) {
                    slotsOwn[index][rank] = allocate(rank, part.length());
                }
            }
            int above = part.tree().down().parent(rank);
            if (spreads() && above >= 0) {
                slotsDown[index][rank] = allocate(rank, part.length());
                connect(down(index, above, rank));
            }
        }
    }

    private Edge down(int index, int from, int to) {
        boolean root = from == trees.trees().get(index).tree().root();
        return new Edge(index % groups, root ? Way.FROM_ROOT : Way.DOWN, from, to);
    }

    private int allocate(int rank, int length) {
        scratch[rank] += length;
        return scratch[rank] - length;
    }

    /** Adds a channel at both ends, unless it is there, so that all pairs have their channels in the same order. */
    private void connect(Edge edge) {
        for (int[] end : new int[][] {{edge.from, edge.to}, {edge.to, edge.from}}) {
            if (channelIndices
                            .get(end[0])
                            .putIfAbsent(edge, channelPeers.get(end[0]).size())
                    == null) {
                channelPeers.get(end[0]).add(end[1]);
            }
        }
    }

    private Draft upBlock(int rank, int group) {
        Draft block = new Draft(rank);
        for (int index = group; index < trees.trees().size(); index += groups) {
            ChunkedTrees.Part part = trees.trees().get(index);
            Tree up = part.tree().up();
            boolean root = rank == up.root();
            int[] children = collective.reduces() ? up.children(rank) : new int[0];
            if (!root && !collective.reduces()) {
                continue;
            }
            int tree = index;
            List<Reference> sources = new ArrayList<>();
            sources.add(Reference.own("i", input(part), part.length()));
            for (int child : children) {
                sources.add(Reference.own("s", slotsUp[index][child], part.length()));
            }
            List<Reference> targets = new ArrayList<>();
            List<Edge> to = new ArrayList<>();
            if (root) {
                targets.add(Reference.own("o", output(part), part.length()));
                for (int child : spreads() ? part.tree().down().children(rank) : new int[0]) {
                    targets.add(block.at(child, slotsDown[index][child], part.length()));
                    to.add(down(index, rank, child));
                }
            } else {
                if (children.length > 0) {
                    targets.add(
                            spreads()
                                    ? Reference.own("o", output(part), part.length())
                                    : Reference.own("s", slotsOwn[index][rank], part.length()));
                }
                targets.add(block.at(up.parent(rank), slotsUp[index][rank], part.length()));
                to.add(new Edge(group, Way.UP, rank, up.parent(rank)));
            }
            List<Edge> from = Arrays.stream(children)
                    .mapToObj(child -> new Edge(tree % groups, Way.UP, child, rank))
                    .toList();
            block.move(part.length(), from, sources, targets, to);
        }
        return block;
    }

    private Draft downBlock(int rank, int group) {
        Draft block = new Draft(rank);
        for (int index = group; index < trees.trees().size(); index += groups) {
            ChunkedTrees.Part part = trees.trees().get(index);
            Tree down = part.tree().down();
            if (rank != down.root()) {
                List<Reference> targets = new ArrayList<>();
                targets.add(Reference.own("o", output(part), part.length()));
                List<Edge> to = new ArrayList<>();
                for (int child : down.children(rank)) {
                    targets.add(block.at(child, slotsDown[index][child], part.length()));
                    to.add(down(index, rank, child));
                }
                block.move(
                        part.length(),
                        List.of(down(index, down.parent(rank), rank)),
                        List.of(Reference.own("s", slotsDown[index][rank], part.length())),
                        targets,
                        to);
            }
        }
        return block;
    }

    private int input(ChunkedTrees.Part part) {
        return part.first()
                + (collective == Collective.REDUCE_SCATTER ? part.tree().root() * trees.chunks() : 0);
    }

    private int output(ChunkedTrees.Part part) {
        return part.first() + (collective == Collective.ALL_GATHER ? part.tree().root() * trees.chunks() : 0);
    }

    /** A thread block in the making. */
    private final class Draft {
        private final int rank;
        private final List<Integer> channels = new ArrayList<>();
        private final List<Integer> remotes = new ArrayList<>();
        private final List<Integer> receiving = new ArrayList<>();
        private final List<Integer> sending = new ArrayList<>();
        private final List<Operation> loops = new ArrayList<>();

        Draft(int rank) {
            this.rank = rank;
        }

        Reference at(int peer, int chunk, int length) {
            return Reference.remote(position(remotes, peer < rank ? peer : peer - 1), chunk, length);
        }

        private static int position(List<Integer> list, int value) {
            if (!list.contains(value)) {
                list.add(value);
            }
            return list.indexOf(value);
        }

        private List<Integer> positions(List<Edge> edges, List<Integer> ofBlock) {
            return edges.stream()
                    .map(edge -> {
                        int at = position(
                                channels,
                                Objects.requireNonNull(channelIndices.get(rank).get(edge)));
                        position(ofBlock, at);
                        return at;
                    })
                    .toList();
        }

        /** Adds a loop: waits, combines the sources, stores to all targets, signals. */
        void move(int chunks, List<Edge> from, List<Reference> sources, List<Reference> targets, List<Edge> to) {
            if (sources.size() > MscclppPlan.MOST_OPERANDS || targets.size() > MscclppPlan.MOST_OPERANDS) {
                throw new IllegalArgumentException("rank " + rank + " has more than " + (MscclppPlan.MOST_OPERANDS - 1)
                        + " children in a tree, and MSCCL++ takes no more operands; take another algorithm");
            }
            List<Operation> body = new ArrayList<>(synchronisation("wait", positions(from, receiving)));
            if (!body.isEmpty()) {
                body.add(Operation.nop());
            }
            boolean own = targets.getFirst().isOwn();
            String name =
                    sources.size() > 1 || targets.size() > 1 ? targets.size() > 1 ? "res" : "re" : own ? "copy" : "put";
            body.add(new Operation(name, List.of(), sources, targets, null));
            List<Operation> signals = synchronisation("signal", positions(to, sending));
            if (!signals.isEmpty()) {
                body.add(Operation.nop());
                body.addAll(signals);
            }
            loops.add(new Operation(
                    "pipeline", List.of(), List.of(), List.of(), new MscclppPlan.Loop(UNIT_BYTES, chunks, body)));
        }

        private static List<Operation> synchronisation(String name, List<Integer> channels) {
            return IntStream.iterate(0, at -> at < channels.size(), at -> at + MscclppPlan.MOST_CHANNELS_AT_ONCE)
                    .mapToObj(at -> new Operation(
                            name,
                            channels.subList(at, Math.min(channels.size(), at + MscclppPlan.MOST_CHANNELS_AT_ONCE)),
                            List.of(),
                            List.of(),
                            null))
                    .toList();
        }

        void ifAnyAddTo(List<Block> blocks) {
            if (loops.isEmpty()) {
                return;
            }
            List<Operation> operations = new ArrayList<>(synchronisation("rlxsignal", receiving));
            operations.addAll(synchronisation("rlxwait", sending));
            operations.add(Operation.nop());
            operations.addAll(loops);
            int count = operations.stream()
                    .mapToInt(operation -> 1
                            + (operation.loop() == null
                                    ? 0
                                    : operation.loop().operations().size()))
                    .sum();
            if (count > MscclppPlan.MOST_OPERATIONS
                    || channels.size() > MscclppPlan.MOST_CHANNELS
                    || remotes.size() > MscclppPlan.MOST_CHANNELS) {
                throw new IllegalArgumentException(trees.trees().size() + " trees need " + count + " operations and "
                        + channels.size() + " channels in one of " + MOST_BLOCKS + " thread blocks, and MSCCL++ takes "
                        + MscclppPlan.MOST_OPERATIONS + " and " + MscclppPlan.MOST_CHANNELS + "; take fewer trees");
            }
            blocks.add(new Block(channels, remotes, operations));
        }
    }
}
