package dev.banyan.reduce.internal.joining;

import dev.banyan.config.Config;
import dev.banyan.reduce.internal.processes.Job;
import dev.banyan.topology.Machine;

/** A {@link dev.banyan.reduce.backend.Backend} whose devices can be joined with those of other processes. */
public interface JoinableBackend {
    /**
     * Opens another backend, whose ranks are on the devices that backends like this one have in all processes of a job.
     *
     * @param job the processes, of which each has devices of its own and calls this method; the backend leaves it when
     *     it is closed; if this fails, the caller abandons it
     * @param machine the machine that the devices are in, by their bus ids; or one with a device for each rank
     * @param config the settings, which are the same in all processes
     * @throws RuntimeException as {@link JoiningProvider#join} does, and if two processes have the same device
     */
    Joined join(Job job, Machine machine, Config config);
}
