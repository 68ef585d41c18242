package dev.banyan.reduce;

import dev.banyan.config.Setting;
import dev.banyan.config.SettingProvider;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.reduce.internal.processes.JobPlace;
import java.util.List;

/** Lists the settings of this module. */
public final class CommunicatorSettings implements SettingProvider {
    @Override
    public List<Setting<?>> settings() {
        return List.of(
                Communicator.TIMEOUT, HostBackend.THREADS, JobPlace.RANK, JobPlace.WORLD_SIZE, JobPlace.RENDEZVOUS);
    }
}
