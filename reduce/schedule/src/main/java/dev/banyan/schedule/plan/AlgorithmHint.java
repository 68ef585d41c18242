package dev.banyan.schedule.plan;

import java.util.Objects;

/**
 * How a call is carried out.
 *
 * @param algorithm the algorithm; {@link AlgorithmChoice#AUTO} leaves it to the configuration
 * @param hub the rank through which {@link AlgorithmChoice#STAR} sends an all_reduce; no matter for all others
 */
public record AlgorithmHint(AlgorithmChoice algorithm, int hub) {
    /** As the configuration says. */
    public static final AlgorithmHint CONFIGURED = new AlgorithmHint(AlgorithmChoice.AUTO, 0);

    public AlgorithmHint {
        Objects.requireNonNull(algorithm, "algorithm");
        if (hub < 0) {
            throw new IllegalArgumentException("hub " + hub + "; give the rank of a device");
        }
    }
}
