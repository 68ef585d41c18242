package dev.banyan.schedule.plan;

import dev.banyan.config.Setting;
import dev.banyan.config.SettingProvider;
import java.util.List;

/** Lists the settings of this module. */
public final class PlanSettings implements SettingProvider {
    @Override
    public List<Setting<?>> settings() {
        return List.of(
                Planner.ALGORITHM,
                Planner.USE_TREE,
                Planner.TREE_ARRAY_BOUND,
                Planner.CHUNK_BYTES,
                Algorithms.REPRODUCIBLE,
                Algorithms.TREE_BACKTRACK,
                Algorithms.LINK_USAGE_PENALTY,
                Algorithms.SEED,
                Algorithms.LOG_TREE);
    }
}
