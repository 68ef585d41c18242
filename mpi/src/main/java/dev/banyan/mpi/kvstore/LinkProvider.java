package dev.banyan.mpi.kvstore;

import dev.banyan.kvstore.StoreLink;
import dev.banyan.kvstore.engine.DependencyEngine;
import dev.banyan.mpi.World;
import dev.banyan.reduce.Communicator;
import java.util.List;

/**
 * The types of stores that span all processes of the {@link World}, which opens with the first of them:
 *
 * <ul>
 *   <li>{@code funnel}: the caller waits for the sum of its own process, and then for that of all, one key at a time;
 *   <li>{@code concum}: keys are spread over several groups of processes by their hash, at most BANYAN_OUTSTANDING
 *       are under way at once, and a barrier follows each such set;
 *   <li>{@code depcha}: a push only sums up inside the process; the pull lets the engine do the rest, chained by one
 *       variable, so that all processes run their collectives in the order of the calls while everything else overlaps.
 * </ul>
 *
 * <p>All give the same bits. All processes open stores of the same types in the same order.
 *
 * <p>Source: A. R. Mamidala, "Efficient embedding of MPI collectives in MXNET DAGs for scaling deep learning", 2018,
 * <a href="https://arxiv.org/abs/1802.06949">arXiv:1802.06949</a>.
 */
public final class LinkProvider implements StoreLink.Provider {
    @Override
    public List<String> types() {
        return List.of("funnel", "concum", "depcha");
    }

    @Override
    public StoreLink create(String type, Communicator communicator, DependencyEngine engine) {
        World world = World.open(communicator.config());
        world.all().agree("opens a store of type " + type);
        KeySums sums = new KeySums(world, communicator);
        return switch (type) {
            case "funnel" -> new Funnel(sums, engine);
            case "concum" -> new Concum(sums, engine, communicator.config().get(World.OUTSTANDING));
            case "depcha" -> new Depcha(sums, engine);
            default ->
                throw new IllegalArgumentException("no store over several processes is called \"" + type + "\"; take "
                        + String.join(", ", types()));
        };
    }
}
