package dev.banyan.cuda;

import java.util.function.LongSupplier;

/**
 * What users do not choose for a backend, except by settings.
 *
 * @param graphNodes bound of the nodes of all graphs
 * @param clock the time by which runs time out, in ns, as {@link System#nanoTime()}
 * @param triesPeers whether peer access is tried before it is used
 */
record Tuning(Moves moves, int graphNodes, LongSupplier clock, boolean triesPeers) {
    static final Tuning DEFAULT = new Tuning(Moves.DEFAULT, GraphCache.MOST_NODES, System::nanoTime, true);

    /** The same without trials of peer access. */
    Tuning believing() {
        return new Tuning(moves, graphNodes, clock, false);
    }
}
