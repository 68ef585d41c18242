package dev.banyan.kvstore;

import dev.banyan.kvstore.engine.Variable;
import dev.banyan.schedule.plan.AlgorithmHint;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** What a store holds of one key. */
final class Entry {
    final KeyInfo info;
    /** How its array is sent. */
    final AlgorithmHint way;
    /** Stands for the value: operations of the key take effect one after another. */
    final Variable variable;
    /** At the server. */
    final MemorySegment value;
    /** Where the server sums up what an updater or a device is to get; made when it is first needed. */
    @Nullable
    MemorySegment pushed;
    /** Whether an array was pushed whose sum over all processes waits for the next pull. */
    boolean unlinked;

    Entry(KeyInfo info, AlgorithmHint way, Variable variable, MemorySegment value) {
        this.info = info;
        this.way = way;
        this.variable = variable;
        this.value = value;
    }
}
