package dev.banyan.cuda;

import dev.banyan.schedule.program.ProgramSizes;
import java.util.function.LongSupplier;

/**
 * What users do not choose for a backend, except by settings.
 *
 * @param moves how graphs move data
 * @param graphNodes bound of the nodes of all graphs
 * @param clock the time by which runs time out, in ns, as {@link System#nanoTime()}
 * @param triesPeers whether peer access is tried before it is used
 * @param executor what runs schedules
 * @param sizes how device programs are cut
 * @param firstFlag greater than 0; the value at which flags of device programs begin
 * @param launchThreads how many threads launch device programs, or {@link #FITTING}
 */
record Tuning(
        Moves moves,
        int graphNodes,
        LongSupplier clock,
        boolean triesPeers,
        ExecutorChoice executor,
        ProgramSizes sizes,
        long firstFlag,
        int launchThreads) {
    /** As many threads as fit the machine. */
    static final int FITTING = 0;

    static final Tuning DEFAULT = new Tuning(
            Moves.DEFAULT,
            GraphCache.MOST_NODES,
            System::nanoTime,
            true,
            ExecutorChoice.AUTO,
            ProgramSizes.DEFAULT,
            1,
            FITTING);

    /** With graphs alone. */
    Tuning(Moves moves, int graphNodes, LongSupplier clock, boolean triesPeers) {
        this(moves, graphNodes, clock, triesPeers, ExecutorChoice.GRAPH, ProgramSizes.DEFAULT, 1, FITTING);
    }

    /** The same without trials of peer access. */
    Tuning believing() {
        return new Tuning(moves, graphNodes, clock, false, executor, sizes, firstFlag, launchThreads);
    }

    /** The same with a choice of what runs schedules. */
    Tuning with(ExecutorChoice choice) {
        return new Tuning(moves, graphNodes, clock, triesPeers, choice, sizes, firstFlag, launchThreads);
    }

    /** The same with a number of threads that launch. */
    Tuning withLaunchThreads(int threads) {
        return new Tuning(moves, graphNodes, clock, triesPeers, executor, sizes, firstFlag, threads);
    }
}
