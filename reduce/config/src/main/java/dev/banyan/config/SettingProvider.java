package dev.banyan.config;

import java.util.List;

/** A service that lists the settings which one module declares. */
public interface SettingProvider {
    /** Returns the declarations, in any order. */
    List<Setting<?>> settings();

    /**
     * Checks settings that depend on each other. Runs whenever settings are loaded, when each value alone is valid.
     *
     * @throws ConfigException if the values do not go together
     */
    default void check(Config config) {}
}
