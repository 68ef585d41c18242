package dev.banyan.trees.packing.branching;

import dev.banyan.trees.internal.MaxFlow;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The capacities that a packing has left, and the partial trees that still need them, as a flow: a source
 * supplies every partial tree with as much as there are of it, at any rank that it has reached. Not safe for
 * use from several threads at once.
 */
final class OpenDemand {
    /** More than any flow that is asked for; two of them still fit a long. */
    private static final long UNLIMITED = 1L << 61;

    private final int ranks;
    private final long[] left;
    private final int[] arcOf;
    private final int[] entries;
    private final long[] supply;
    private final Map<PartialTree, Slot> slots = new LinkedHashMap<>();
    private final Deque<Slot> free = new ArrayDeque<>();
    private int slotCount;
    private int arcs;
    private long trees;
    private long work;
    private MaxFlow flow;
    private boolean @Nullable [] side;

    /** A node that stands for a partial tree: its entry is as wide as there are of it, its exits are ranks. */
    private static final class Slot {
        final int node;
        final int entry;
        final int[] exits;

        Slot(int node, int entry, int ranks) {
            this.node = node;
            this.entry = entry;
            exits = new int[ranks];
            Arrays.fill(exits, -1);
        }
    }

    OpenDemand(LogicalGraph graph) {
        ranks = graph.ranks();
        left = new long[ranks * ranks];
        for (int from = 0; from < ranks; from++) {
            for (int to = 0; to < ranks; to++) {
                left[from * ranks + to] = graph.capacity(from, to);
            }
        }
        arcOf = new int[left.length];
        entries = new int[ranks];
        supply = new long[ranks];
        slotCount = ranks;
        flow = newFlow();
    }

    private MaxFlow newFlow() {
        MaxFlow fresh = new MaxFlow(ranks + 1 + slotCount, left.length);
        arcs = 0;
        for (int pair = 0; pair < left.length; pair++) {
            arcOf[pair] = left[pair] > 0 ? fresh.addArc(pair / ranks, pair % ranks, left[pair]) : -1;
            arcs += left[pair] > 0 ? 1 : 0;
        }
        for (int rank = 0; rank < ranks; rank++) {
            entries[rank] = fresh.addArc(ranks, rank, supply[rank]);
        }
        free.clear();
        for (int i = 0; i < slotCount; i++) {
            int node = ranks + 1 + i;
            free.addLast(new Slot(node, fresh.addArc(ranks, node, 0), ranks));
        }
        arcs += ranks + slotCount;
        return fresh;
    }

    /** Capacity that is left from one rank to another. */
    long left(int from, int to) {
        return left[from * ranks + to];
    }

    /** Takes capacity for trees. */
    void use(int from, int to, long amount) {
        int pair = from * ranks + to;
        left[pair] -= amount;
        flow.setCapacity(arcOf[pair], left[pair]);
    }

    /** Counts partial trees among those that need capacity. */
    void add(PartialTree tree) {
        trees += tree.count();
        if (tree.size() == 1) {
            supply[tree.root()] += tree.count();
            flow.setCapacity(entries[tree.root()], supply[tree.root()]);
            return;
        }
        if (free.isEmpty()) {
            List<PartialTree> others = List.copyOf(slots.keySet());
            slots.clear();
            slotCount *= 2;
            flow = newFlow();
            others.forEach(this::open);
        }
        open(tree);
    }

    private void open(PartialTree tree) {
        Slot slot = free.removeFirst();
        slots.put(tree, slot);
        flow.setCapacity(slot.entry, tree.count());
        for (int rank = tree.members().nextSetBit(0);
                rank >= 0;
                rank = tree.members().nextSetBit(rank + 1)) {
            if (slot.exits[rank] < 0) {
                slot.exits[rank] = flow.addArc(slot.node, rank, UNLIMITED);
                arcs++;
            } else {
                flow.setCapacity(slot.exits[rank], UNLIMITED);
            }
        }
    }

    /** No longer counts partial trees that were added. */
    void remove(PartialTree tree) {
        trees -= tree.count();
        if (tree.size() == 1) {
            supply[tree.root()] -= tree.count();
            flow.setCapacity(entries[tree.root()], supply[tree.root()]);
            return;
        }
        Slot slot = slots.remove(tree);
        if (slot == null) {
            throw new IllegalArgumentException("no such partial tree was added");
        }
        flow.setCapacity(slot.entry, 0);
        for (int exit : slot.exits) {
            if (exit >= 0) {
                flow.setCapacity(exit, 0);
            }
        }
        free.addFirst(slot);
    }

    /**
     * Returns the part of an arc that trees other than those counted can take, while these still find what they need.
     *
     * @param limit most that is asked for
     */
    long room(int from, int to, long limit) {
        flow.setCapacity(entries[from], UNLIMITED);
        long amount = flow.run(ranks, to, trees + limit) - trees;
        flow.setCapacity(entries[from], supply[from]);
        work += arcs;
        side = amount < limit ? flow.sourceSide() : null;
        if (amount < 0) {
            throw new IllegalArgumentException(
                    "the capacities do not carry the trees demanded: rank " + to + " lacks " + -amount);
        }
        return amount;
    }

    /** After less room than asked for: the ranks that would have too little, were more of the arc taken. */
    BitSet tightRanks() {
        if (side == null) {
            throw new IllegalStateException("there was room enough");
        }
        BitSet tight = new BitSet(ranks);
        for (int rank = 0; rank < ranks; rank++) {
            tight.set(rank, !side[rank]);
        }
        return tight;
    }

    /** Arcs of all flows so far. */
    long work() {
        return work;
    }
}
