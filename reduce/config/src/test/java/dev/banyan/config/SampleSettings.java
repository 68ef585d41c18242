package dev.banyan.config;

import java.time.Duration;
import java.util.List;

/** A setting of every kind. */
public final class SampleSettings implements SettingProvider {
    static final Setting<Boolean> FLAG = Setting.flag("MXNET_KVSTORE_TREE_FLAG", true, "Is on or off.");
    static final Setting<Integer> WORKERS =
            Setting.wholeNumber("BANYAN_WORKERS", "workers", 1, 64, 4, "Counts workers.");
    static final Setting<Long> BOUND = Setting.elements("MXNET_BOUND", 0, 7, "Limits elements.");
    static final Setting<Duration> PATIENCE =
            Setting.milliseconds("BANYAN_PATIENCE_MS", Duration.ofSeconds(1), "Limits the time.");
    static final Setting<Long> LIMIT = Setting.bytes("BANYAN_LIMIT", 2 << 20, 256 << 20, "Limits bytes.");
    static final Setting<Long> CHUNK =
            Setting.bytesOr("auto", Long.MAX_VALUE, "BANYAN_CHUNK", 64, Long.MAX_VALUE, "Limits chunks.");
    static final Setting<String> LIBRARY =
            Setting.text("BANYAN_LIBRARY", "a path", "as the loader finds it", "Names a library.");

    @Override
    public List<Setting<?>> settings() {
        return List.of(FLAG, WORKERS, BOUND, PATIENCE, LIMIT, CHUNK, LIBRARY);
    }
}
