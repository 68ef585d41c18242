package dev.banyan.nvml;

import dev.banyan.config.Setting;
import dev.banyan.config.SettingProvider;
import java.util.List;

/** Lists the settings of this module. */
public final class NvmlSettings implements SettingProvider {
    @Override
    public List<Setting<?>> settings() {
        return List.of(NvmlProbe.LIBRARY);
    }
}
