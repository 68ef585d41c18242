package dev.banyan.kvstore;

import dev.banyan.kvstore.internal.engine.Variable;
import dev.banyan.reduce.optimizer.Optimizer;
import dev.banyan.reduce.optimizer.ParameterUpdate;
import dev.banyan.schedule.plan.AlgorithmHint;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The state of one key of a store. */
final class Entry {
    final KeyInfo info;
    /** The algorithm that sends its array. */
    final AlgorithmHint way;
    /** Stands for the value: operations of the key take effect one after another. */
    final Variable variable;
    /** The value, in memory of the key's server. */
    final MemorySegment value;
    /** The server's memory for sums that an updater or a device receives; allocated at its first use. */
    @Nullable
    MemorySegment pushed;
    /** The optimizer's state, in memory of the key's server; allocated at its first use. */
    @Nullable
    MemorySegment state;
    /** The number of updates by an optimizer. Operations of the key, one after another, access it. */
    long updates;
    /** True if the sum over all processes of a pushed array waits for the next pull. */
    boolean unlinked;

    Entry(KeyInfo info, AlgorithmHint way, Variable variable, MemorySegment value) {
        this.info = info;
        this.way = way;
        this.variable = variable;
        this.value = value;
    }

    /** Returns the next update of the value. The state is allocated. */
    ParameterUpdate update(Optimizer optimizer, MemorySegment gradient) {
        return new ParameterUpdate(
                optimizer,
                updates + 1,
                info.server(),
                info.type(),
                info.count(),
                value,
                gradient,
                Objects.requireNonNull(state));
    }
}
