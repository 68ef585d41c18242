package dev.banyan.reduce;

import dev.banyan.schedule.plan.AlgorithmHint;
import java.util.Objects;

/**
 * A call and the algorithm that runs it.
 *
 * @param call what to run
 * @param hint the algorithm; its hub, if any, is one of the ranks
 */
public record HintedCall(CollectiveCall call, AlgorithmHint hint) {
    public HintedCall {
        Objects.requireNonNull(call, "call");
        Objects.requireNonNull(hint, "hint");
    }
}
