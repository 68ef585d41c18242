package dev.banyan.msccl;

import dev.banyan.msccl.Algo.Threadblock;
import dev.banyan.schedule.Schedule;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Distributes actions over channels and threadblocks. Used once. */
final class ThreadblockPlanner {
    private final Schedule schedule;
    private final List<Action> actions;
    private final MscclOptions options;
    private final Hazards hazards;
    /** Actions in the order that all threadblocks keep. */
    private final int[] order;

    /**
     * @param schedule in place if the result may run in place
     * @param unit bytes of an MSCCL chunk
     * @param actions none before one that it depends on
     */
    ThreadblockPlanner(Schedule schedule, long unit, List<Action> actions, MscclOptions options) {
        this.schedule = schedule;
        this.actions = actions;
        this.options = options;
        hazards = new Hazards(schedule, unit, actions);
        order = IntStream.range(0, actions.size())
                .boxed()
                .sorted(Comparator.comparingInt(hazards::level))
                .mapToInt(Integer::intValue)
                .toArray();
    }

    /**
     * Returns the threadblocks of every rank, with as many channels as there is room for. With one channel, different
     * work shares threadblocks where there is no room otherwise.
     *
     * @throws IllegalArgumentException if there is no room even then
     */
    List<List<Threadblock>> plan() {
        int routes = actions.stream().mapToInt(Action::route).max().orElse(-1) + 1;
        String problem = "";
        for (int channels = Math.min(routes, options.channels()); channels >= 1; channels--) {
            List<List<BlockBuilder>> blocks = blocks(channels);
            @Nullable String excess = excess(blocks);
            if (excess == null) {
                return blocks.stream()
                        .map(own -> own.stream().map(BlockBuilder::build).toList())
                        .toList();
            }
            problem = excess;
        }
        throw new IllegalArgumentException("the " + schedule.algorithm() + " schedule for "
                + schedule.collective().label() + " over " + schedule.ranks() + " ranks does not fit an MSCCL file: "
                + (routes == 0 ? "it has no steps" : problem));
    }

    /** Threadblocks by rank and id. */
    private List<List<BlockBuilder>> blocks(int channels) {
        BlockTable table = new BlockTable(schedule.ranks(), actions, channels, options.threadblocks());
        for (int action : order) {
            if (actions.get(action).isTransfer()) {
                table.append(action, Hazards.SENDER, hazards.before(action, Hazards.SENDER));
            }
            table.append(action, Hazards.TARGET, hazards.before(action, Hazards.TARGET));
        }
        return table.blocks();
    }

    /** Returns the resource that is exceeded, and the remedy; null if there is none. */
    private @Nullable String excess(List<List<BlockBuilder>> blocks) {
        for (int rank = 0; rank < schedule.ranks(); rank++) {
            List<BlockBuilder> own = blocks.get(rank);
            int steps = own.stream().mapToInt(BlockBuilder::size).sum();
            int elements = 1 + schedule.ranks() + own.size() + steps;
            if (own.isEmpty()) {
                return "rank " + rank + " has nothing to do, and the runtime cannot start it so; leave it out";
            }
            if (own.size() > options.threadblocks()) {
                return "rank " + rank + " needs " + own.size() + " threadblocks and may have " + options.threadblocks()
                        + "; use fewer trees, or allow more";
            }
            for (BlockBuilder block : own) {
                if (block.size() > Limits.STEPS) {
                    return "a threadblock of rank " + rank + " has " + block.size() + " steps and may have "
                            + Limits.STEPS + "; use fewer trees or chunks";
                }
                List<BlockBuilder.Key> channel = own.stream()
                        .map(BlockBuilder::key)
                        .filter(key -> key.channel() == block.key().channel())
                        .toList();
                long peers = Math.max(
                        channel.stream().filter(BlockBuilder.Key::sends).count(),
                        channel.stream().filter(BlockBuilder.Key::receives).count());
                if (peers > Limits.PEERS) {
                    return "rank " + rank + " has " + peers + " peers on one channel and may have " + Limits.PEERS
                            + "; use a tree with fewer children";
                }
            }
            if (elements > Limits.ELEMENTS) {
                return "rank " + rank + " needs " + elements + " XML elements and may have " + Limits.ELEMENTS
                        + "; use fewer trees or chunks";
            }
        }
        return null;
    }
}
