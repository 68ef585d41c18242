package dev.banyan.cli;

import dev.banyan.config.Setting;
import dev.banyan.config.SettingProvider;
import java.util.List;

/** Lists the settings of the script {@code banyan}, which reads them before it starts Java. */
public final class CommandSettings implements SettingProvider {
    private static final Setting<String> JAVA_HOME = Setting.text(
                    "BANYAN_JAVA_HOME",
                    "the folder of a JDK 25 or newer",
                    "none",
                    "Names the JDK that the script banyan uses, instead of one in JAVA_HOME, PATH or the usual"
                            + " folders; an environment variable only.")
            .outsideFiles();
    private static final Setting<String> JAVA_OPTS = Setting.text(
                    "BANYAN_JAVA_OPTS",
                    "options of the JVM",
                    "none",
                    "Adds options of the JVM that the script banyan starts; an environment variable only.")
            .outsideFiles();

    @Override
    public List<Setting<?>> settings() {
        return List.of(JAVA_HOME, JAVA_OPTS);
    }
}
