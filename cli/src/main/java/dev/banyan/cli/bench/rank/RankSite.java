package dev.banyan.cli.bench.rank;

import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.NcclRequest;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import org.jspecify.annotations.Nullable;

/** The devices or threads that play ranks, and their memory. */
public interface RankSite extends AutoCloseable {
    /** Returns the devices that play the ranks, and their machine. */
    ChosenMachine chosen();

    /** Returns the machine of the ranks; rank r is device r. */
    default Machine machine() {
        return chosen().machine();
    }

    /** Returns what the calls are measured on, in words. */
    String devices();

    /** Returns the place of the ranks for titles of pictures. */
    String place();

    /** Returns the executor of calls, as far as tuning depends on it. */
    Platform platform();

    /** A communicator that goes by the given rules, set up by the user's configuration otherwise. */
    Communicator open(SizeRules rules);

    /** A communicator that does everything with the given algorithm; else as above. */
    default Communicator open(AlgorithmConfig algorithm) {
        return open(SizeRules.always(algorithm));
    }

    /** Why NCCL cannot run a collective here, as one sentence without its end; null if it can. */
    @Nullable
    String refusal(NcclRequest request);

    /**
     * Memory of every rank.
     *
     * @param arena what memory of the host belongs to
     * @param bytes of each rank
     */
    RankMemory allocate(Arena arena, long bytes);

    @Override
    void close();

    /** Number of ranks. */
    default int ranks() {
        return machine().size();
    }
}
