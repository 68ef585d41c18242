package dev.banyan.reduce.internal.joining;

import dev.banyan.config.Config;
import dev.banyan.reduce.internal.processes.Job;
import dev.banyan.topology.Machine;

/** A {@link dev.banyan.reduce.backend.Backend.Provider} whose backends may have ranks in several processes. */
public interface JoiningProvider {
    /**
     * Opens a backend on devices that the processes of a job hold.
     *
     * @param job the processes, which the backend leaves when it is closed; if this fails, the caller abandons it
     * @param machine the machine that the devices are in, by their bus ids; or one with a device for each rank
     * @param config the settings, which are the same in all processes
     * @param devices the device of each rank of this process, as the driver counts them here
     * @throws RuntimeException if there is no driver, a device cannot be used, or the devices of two processes do not
     *     reach each other's memory; the message says which and why
     */
    Joined join(Job job, Machine machine, Config config, int... devices);
}
