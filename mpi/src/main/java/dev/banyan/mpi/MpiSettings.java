package dev.banyan.mpi;

import dev.banyan.config.Setting;
import dev.banyan.config.SettingProvider;
import java.util.List;

/** Lists the settings of this module. */
public final class MpiSettings implements SettingProvider {
    @Override
    public List<Setting<?>> settings() {
        return List.of(MpiLibrary.FILE, World.CHECK_ORDER, World.DEVICE_MEMORY, World.SHARED_MEMORY, World.OUTSTANDING);
    }
}
