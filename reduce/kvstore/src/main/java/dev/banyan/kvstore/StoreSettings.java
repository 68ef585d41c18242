package dev.banyan.kvstore;

import dev.banyan.config.Setting;
import dev.banyan.config.SettingProvider;
import java.util.List;

/** Lists the settings of this module. */
public final class StoreSettings implements SettingProvider {
    @Override
    public List<Setting<?>> settings() {
        return List.of(KVStore.FUSION_BYTES, KVStore.BIG_ARRAY_BOUND);
    }
}
