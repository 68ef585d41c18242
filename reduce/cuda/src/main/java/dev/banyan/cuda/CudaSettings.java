package dev.banyan.cuda;

import dev.banyan.config.Setting;
import dev.banyan.config.SettingProvider;
import java.util.List;

/** Lists the settings of this module. */
public final class CudaSettings implements SettingProvider {
    @Override
    public List<Setting<?>> settings() {
        return List.of(
                CudaBackendProvider.BUFFER_LIMIT,
                CudaBackendProvider.PEER_ACCESS,
                CudaBackendProvider.PEER_TRIAL,
                CudaBackendProvider.EXECUTOR,
                CudaBackendProvider.LAUNCH_THREADS);
    }
}
