package dev.banyan.cuda;

import dev.banyan.cuda.internal.driver.DriverThreads;
import dev.banyan.cuda.internal.graph.GraphCache;
import dev.banyan.cuda.internal.graph.Moves;
import dev.banyan.schedule.internal.program.ProgramSizes;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of a backend that users choose by settings alone.
 *
 * @param moves how graphs move data
 * @param graphNodes bound of the nodes of all graphs
 * @param clock the time by which runs, copies and trials time out, in ns, as {@link System#nanoTime()}
 * @param triesPeers whether peer access is tried before it is used
 * @param executor what runs schedules
 * @param sizes how device programs are cut
 * @param firstFlag greater than 0; the value at which flags of device programs begin
 * @param launchThreads how many threads launch device programs, or {@link #FITTING}
 * @param ncclLibrary file of NCCL's library; null for the one that the loader finds
 * @param watcher runs the thread that waits for the ends of runs
 */
record Tuning(
        Moves moves,
        int graphNodes,
        LongSupplier clock,
        boolean triesPeers,
        ExecutorChoice executor,
        ProgramSizes sizes,
        long firstFlag,
        int launchThreads,
        @Nullable String ncclLibrary,
        Executor watcher) {
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
            FITTING,
            null,
            DriverThreads.WATCHER);

    /** With graphs alone. */
    Tuning(Moves moves, int graphNodes, LongSupplier clock, boolean triesPeers) {
        this(moves, graphNodes, clock, triesPeers, ExecutorChoice.GRAPH, ProgramSizes.DEFAULT, 1, FITTING);
    }

    /** With the NCCL that the loader finds. */
    Tuning(
            Moves moves,
            int graphNodes,
            LongSupplier clock,
            boolean triesPeers,
            ExecutorChoice executor,
            ProgramSizes sizes,
            long firstFlag,
            int launchThreads) {
        this(
                moves,
                graphNodes,
                clock,
                triesPeers,
                executor,
                sizes,
                firstFlag,
                launchThreads,
                null,
                DriverThreads.WATCHER);
    }

    /** The same without trials of peer access. */
    Tuning believing() {
        return new Tuning(
                moves, graphNodes, clock, false, executor, sizes, firstFlag, launchThreads, ncclLibrary, watcher);
    }

    /** The same with another clock. */
    Tuning by(LongSupplier other) {
        return new Tuning(
                moves, graphNodes, other, triesPeers, executor, sizes, firstFlag, launchThreads, ncclLibrary, watcher);
    }

    /** The same with a choice of what runs schedules. */
    Tuning with(ExecutorChoice choice) {
        return new Tuning(
                moves, graphNodes, clock, triesPeers, choice, sizes, firstFlag, launchThreads, ncclLibrary, watcher);
    }

    /** The same with a number of threads that launch. */
    Tuning withLaunchThreads(int threads) {
        return new Tuning(
                moves, graphNodes, clock, triesPeers, executor, sizes, firstFlag, threads, ncclLibrary, watcher);
    }

    /** The same with a file of NCCL's library, or null for the one that the loader finds. */
    Tuning withNcclLibrary(@Nullable String file) {
        return new Tuning(
                moves, graphNodes, clock, triesPeers, executor, sizes, firstFlag, launchThreads, file, watcher);
    }

    /** The same with another way to run the thread that waits for the ends of runs. */
    Tuning watchedBy(Executor threads) {
        return new Tuning(
                moves, graphNodes, clock, triesPeers, executor, sizes, firstFlag, launchThreads, ncclLibrary, threads);
    }
}
