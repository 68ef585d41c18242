package dev.banyan.study.cluster;

import dev.banyan.study.training.KeyStore;
import java.util.Locale;

/**
 * The three ways to put MPI's collectives into a dependency engine.
 *
 * <p>Source: A. R. Mamidala, "Efficient Embedding of MPI Collectives in MXNET DAGs for scaling Deep Learning",
 * arXiv:1802.06949 (2018).
 */
public enum Design {
    /** The calling thread waits for each gradient and calls MPI itself. */
    FUNNEL,
    /** Keys in groups, over several communicators with a helper thread each; a barrier after each group. */
    CONCUM,
    /** Collectives are the engine's operations, one after another by an artificial dependency. */
    DEPCHA;

    /** Returns its name. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * A store of this design.
     *
     * @param costs of keys
     * @param order in which its caller hands it keys
     */
    public KeyStore store(KeyCosts costs, CallOrder order) {
        return switch (this) {
            case FUNNEL -> new FunnelStore(costs, order);
            case CONCUM -> new ConcumStore(costs, order);
            case DEPCHA -> new DepchaStore(costs, order);
        };
    }
}
