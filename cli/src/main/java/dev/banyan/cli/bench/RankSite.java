package dev.banyan.cli.bench;

import dev.banyan.reduce.AlgorithmChoice;
import dev.banyan.reduce.Communicator;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;

/** Where ranks are played, and their memory. */
interface RankSite {
    /** How the ranks are linked; rank r is device r. */
    Machine machine();

    /** What stands for the devices, in words. */
    String devices();

    /** A communicator that does everything with the given algorithm, set up by the user's configuration otherwise. */
    Communicator open(AlgorithmChoice algorithm);

    /**
     * Memory of every rank.
     *
     * @param arena what memory of the host belongs to
     * @param bytes of each rank
     */
    RankMemory allocate(Arena arena, long bytes);

    /** Number of ranks. */
    default int ranks() {
        return machine().size();
    }
}
