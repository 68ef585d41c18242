package dev.banyan.djl.internal.processes;

import dev.banyan.config.Config;
import dev.banyan.mpi.MpiException;
import dev.banyan.mpi.World;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds out at first use how this process was started. */
public final class Launch {
    private static final Logger LOG = LoggerFactory.getLogger(Launch.class);

    /** The processes that mpirun started together, or this process alone. */
    public static final Processes PROCESSES = start();

    private Launch() {}

    /** Opens the world only if variables of mpirun are set. */
    private static Processes start() {
        if (Stream.of("OMPI_COMM_WORLD_SIZE", "PMIX_RANK").allMatch(name -> System.getenv(name) == null)) {
            return Processes.ALONE;
        }
        try {
            World world = World.open(Config.load());
            ProgramEnd.finish(world);
            if (world.size() == 1) {
                return Processes.ALONE;
            }
            if (world.rank() == 0) {
                LOG.info("{} processes train together, by {}", world.size(), world.version());
            }
            return new MpiProcesses(world);
        } catch (MpiException e) {
            LOG.warn("each process trains for itself, without Banyan: {}", e.getMessage());
            return Processes.ALONE;
        }
    }
}
