package dev.banyan.kvstore;

import dev.banyan.config.Setting;
import dev.banyan.config.SettingProvider;
import java.util.List;

/** Lists the settings of this module, and one of trainers, whose modules the command does not have. */
public final class StoreSettings implements SettingProvider {
    /** The greatest length of a bucket of several gradients that a trainer sums together, in bytes. */
    public static final Setting<Long> BUCKET_BYTES = Setting.bytes(
            "BANYAN_BUCKET_BYTES",
            64,
            25 << 20,
            "Limits the gradients that a trainer with several devices in one process sums in one batch; a longer"
                    + " gradient is a batch of its own.");

    @Override
    public List<Setting<?>> settings() {
        return List.of(BUCKET_BYTES, KVStore.FUSION_BYTES, KVStore.BIG_ARRAY_BOUND);
    }
}
