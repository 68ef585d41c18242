package dev.banyan.msccl;

import dev.banyan.msccl.Hazards.Side;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** The threadblocks of all ranks while they are filled, one action after the other. */
final class BlockTable {
    private final List<Action> actions;
    private final int channels;
    /** By connection and direction, or rank and channel of local copies: the threadblock that serves it. */
    private final Map<BlockBuilder.Key, BlockBuilder> blocks = new HashMap<>();
    /** By rank and id. */
    private final List<List<BlockBuilder>> byRank = new ArrayList<>();
    /** By action and side: the threadblock that does it, and the step. */
    private final int[] blockOf;

    private final int[] stepOf;

    /**
     * Gives each connection and direction, and each channel's local copies, a threadblock of their own.
     *
     * @param threadblocks if a rank would have more threadblocks than this and there is one channel, the rank's local
     *     copies, its sends and its receives share threadblocks as far as necessary
     */
    BlockTable(int ranks, List<Action> actions, int channels, int threadblocks) {
        this.actions = actions;
        this.channels = channels;
        blockOf = new int[2 * actions.size()];
        stepOf = new int[2 * actions.size()];
        List<SortedSet<BlockBuilder.Key>> keys = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            keys.add(new TreeSet<>());
        }
        for (Action action : actions) {
            keys.get(action.target().rank()).add(key(action, Hazards.TARGET));
            if (action.isTransfer()) {
                keys.get(action.source().rank()).add(key(action, Hazards.SENDER));
            }
        }
        for (SortedSet<BlockBuilder.Key> own : keys) {
            addRank(channels == 1 ? shared(List.copyOf(own), threadblocks) : separate(own));
        }
    }

    private void addRank(Map<BlockBuilder.Key, BlockBuilder.Key> hosts) {
        // Sorted, so that a rank's threadblocks are numbered by channel.
        SortedMap<BlockBuilder.Key, BlockBuilder> own = new TreeMap<>();
        hosts.values().forEach(host -> own.computeIfAbsent(host, BlockBuilder::new));
        int id = 0;
        for (BlockBuilder block : own.values()) {
            block.setId(id++);
        }
        byRank.add(List.copyOf(own.values()));
        hosts.forEach((key, host) -> blocks.put(key, Objects.requireNonNull(own.get(host))));
    }

    private static Map<BlockBuilder.Key, BlockBuilder.Key> separate(Collection<BlockBuilder.Key> own) {
        return own.stream().collect(Collectors.toMap(key -> key, key -> key));
    }

    /**
     * Returns the key of the threadblock for each key of a rank on one channel. Sharing cannot deadlock, since all
     * threadblocks keep one order of actions.
     *
     * @param own sorted
     */
    private static Map<BlockBuilder.Key, BlockBuilder.Key> shared(List<BlockBuilder.Key> own, int threadblocks) {
        Map<BlockBuilder.Key, BlockBuilder.Key> hosts = separate(own);
        int surplus = own.size() - threadblocks;
        List<BlockBuilder.Key> sends =
                own.stream().filter(BlockBuilder.Key::sends).toList();
        List<BlockBuilder.Key> receives =
                own.stream().filter(BlockBuilder.Key::receives).toList();
        boolean hasLocal = own.size() > sends.size() + receives.size();
        int pairs = Math.min(hasLocal ? surplus - 1 : surplus, Math.min(sends.size(), receives.size()));
        for (int i = 0; i < pairs; i++) {
            BlockBuilder.Key send = sends.get(i);
            BlockBuilder.Key receive = receives.get(i);
            BlockBuilder.Key pair = new BlockBuilder.Key(send.rank(), send.channel(), send.send(), receive.receive());
            hosts.put(send, pair);
            hosts.put(receive, pair);
        }
        if (hasLocal && surplus > 0 && own.size() > 1) {
            // The key of the local copies is the first in order.
            hosts.put(own.getFirst(), Objects.requireNonNull(hosts.get(own.get(1))));
        }
        return hosts;
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
