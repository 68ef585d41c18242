package dev.banyan.mpi;

import dev.banyan.reduce.internal.CloseAll;
import java.util.HashMap;
import java.util.Map;

/**
 * Kinds of collectives on which the processes of a group have agreed. MPI may write beyond an array if the processes
 * give it different lengths. So the first call of a kind compares the kinds, and then gives the kind a communicator of
 * its own: calls of different kinds never meet in MPI, and wait for each other until their deadline instead. Kinds
 * beyond the first {@link #MOST} have no such communicator, and each of their calls compares.
 *
 * <p>Used by one thread at a time; all processes call the same methods in the same order.
 */
final class Agreements implements AutoCloseable {
    /** Open MPI has some thousands of communicators for each process. */
    private static final int MOST = 64;

    private final MpiProcesses processes;
    /** Runs the comparisons, which must not meet the calls of {@link #processes}. */
    private final MpiProcesses witness;

    private final OrderCheck check;
    private final Map<String, MpiProcesses> agreed = new HashMap<>();

    /** @param processes those of the group, of which all make one */
    Agreements(World world, MpiProcesses processes) {
        this.processes = processes;
        witness = processes.duplicate();
        check = new OrderCheck(world.mpi(), witness.communicator(), witness.size());
    }

    /**
     * Checks that all processes are about to do the same.
     *
     * @throws OrderException on all processes if they are not
     */
    void check(String what) {
        check.check(what);
    }

    /**
     * Returns the processes with the communicator for a kind of calls, after all have agreed on it.
     *
     * @param kind what decides how many bytes MPI moves
     * @throws OrderException on all processes if another one is about to run another kind for the first time
     */
    MpiProcesses among(String kind) {
        MpiProcesses known = agreed.get(kind);
        if (known != null) {
            return known;
        }
        check.check(kind);
        if (agreed.size() == MOST) {
            return processes;
        }
        MpiProcesses made = witness.duplicate();
        agreed.put(kind, made);
        return made;
    }

    /** Frees the communicators. All processes call it. */
    @Override
    public void close() {
        CloseAll all = new CloseAll();
        // In the same order everywhere, whatever the hashes are.
        agreed.keySet().stream().sorted().map(agreed::get).forEach(made -> all.close(made::close));
        all.close(witness::close);
        all.throwFailure();
    }
}
