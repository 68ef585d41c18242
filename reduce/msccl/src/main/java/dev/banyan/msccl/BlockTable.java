package dev.banyan.msccl;

import dev.banyan.msccl.Hazards.Side;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** The threadblocks of all ranks while they are filled, one action after the other. */
final class BlockTable {
    private final List<Action> actions;
    private final int channels;
    /** Sorted, so that a rank's threadblocks are numbered by channel. */
    private final SortedMap<BlockBuilder.Key, BlockBuilder> blocks = new TreeMap<>();
    /** By rank and id. */
    private final List<List<BlockBuilder>> byRank = new ArrayList<>();
    /** By action and side: the threadblock that does it, and the step. */
    private final int[] blockOf;

    private final int[] stepOf;

    BlockTable(int ranks, List<Action> actions, int channels) {
        this.actions = actions;
        this.channels = channels;
        blockOf = new int[2 * actions.size()];
        stepOf = new int[2 * actions.size()];
        for (Action action : actions) {
            blocks.computeIfAbsent(key(action, Hazards.TARGET), BlockBuilder::new);
            if (action.isTransfer()) {
                blocks.computeIfAbsent(key(action, Hazards.SENDER), BlockBuilder::new);
            }
        }
        for (int rank = 0; rank < ranks; rank++) {
            byRank.add(new ArrayList<>());
        }
        for (BlockBuilder block : blocks.values()) {
            List<BlockBuilder> own = byRank.get(block.key().rank());
            block.setId(own.size());
            own.add(block);
        }
    }

    private BlockBuilder.Key key(Action action, int side) {
        int channel = action.route() % channels;
        int from = action.source().rank();
        int to = action.target().rank();
        if (!action.isTransfer()) {
            return new BlockBuilder.Key(to, channel, -1, -1);
        }
        return side == Hazards.SENDER
                ? new BlockBuilder.Key(from, channel, to, -1)
                : new BlockBuilder.Key(to, channel, -1, from);
    }

    /** Adds one side of an action to its threadblock, after the waiting that it needs. */
    void append(int index, int side, List<Side> before) {
        Action action = actions.get(index);
        BlockBuilder block = blocks.get(key(action, side));
        if (block == null) {
            throw new IllegalStateException("no threadblock for side " + side + " of action " + index);
        }
        Map<Integer, Integer> latest = new HashMap<>();
        for (Side earlier : before) {
            int at = 2 * earlier.action() + earlier.side();
            latest.merge(blockOf[at], stepOf[at], Math::max);
        }
        List<BlockBuilder> own = byRank.get(block.key().rank());
        SortedMap<Integer, Integer> needed = block.needed(latest, own);
        needed.forEach((other, step) -> own.get(other).setAwaited(step));
        blockOf[2 * index + side] = block.id();
        stepOf[2 * index + side] = block.append(action, side, needed);
    }

    /** By rank and id. */
    List<List<BlockBuilder>> blocks() {
        return byRank;
    }
}
