package dev.banyan.config;

import java.util.List;

/** A service that lists the settings which one module declares. */
public interface SettingProvider {
    /** Returns the declarations, in any order. */
    List<Setting<?>> settings();
}
