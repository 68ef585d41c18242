package dev.banyan.nccl.internal;

import dev.banyan.config.Setting;
import dev.banyan.config.SettingProvider;
import java.util.List;

/** Lists the settings of this module. */
public final class NcclSettings implements SettingProvider {
    @Override
    public List<Setting<?>> settings() {
        return List.of(NcclLibrary.FILE);
    }
}
