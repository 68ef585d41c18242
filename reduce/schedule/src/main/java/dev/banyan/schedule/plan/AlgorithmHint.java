package dev.banyan.schedule.plan;

import java.util.Objects;

/**
 * A caller's choice of the algorithm of a call.
 *
 * @param algorithm the algorithm; {@link AlgorithmChoice#AUTO} leaves it to the configuration
 * @param hub the rank through which {@link AlgorithmChoice#STAR} sends an all_reduce; ignored by all other algorithms
 */
public record AlgorithmHint(AlgorithmChoice algorithm, int hub) {
    /** Leaves the choice to the configuration. */
    public static final AlgorithmHint CONFIGURED = new AlgorithmHint(AlgorithmChoice.AUTO, 0);

    public AlgorithmHint {
        Objects.requireNonNull(algorithm, "algorithm");
        if (hub < 0) {
            throw new IllegalArgumentException("hub " + hub + "; give the rank of a device");
        }
    }
}
