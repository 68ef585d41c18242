package dev.banyan.cuda;

import java.util.function.LongSupplier;

/**
 * What only tests choose for a backend.
 *
 * @param graphNodes bound of the nodes of all graphs
 * @param clock the time by which runs time out, in ns, as {@link System#nanoTime()}
 */
record Tuning(Moves moves, int graphNodes, LongSupplier clock) {
    static final Tuning DEFAULT = new Tuning(Moves.DEFAULT, GraphCache.MOST_NODES, System::nanoTime);
}
