package dev.banyan.reduce.internal.processes;

import dev.banyan.config.Config;
import dev.banyan.schedule.plan.TuningFile;
import dev.banyan.topology.Machine;
import java.util.stream.Collectors;

/** The properties that all processes of a job must have alike. */
public final class Agreement {
    private Agreement() {}

    /** Returns a machine and the settings that files may have, the tuning file among them, as the text that {@link
     * Job#join} compares. */
    public static String on(Machine machine, Config config) {
        return machine
                + config.entries().stream()
                        .filter(entry -> entry.setting().inFiles())
                        .map(entry -> entry.setting().name() + "=" + entry.value())
                        .collect(Collectors.joining(";"))
                + TuningFile.of(config).map(TuningFile::toString).orElse("");
    }
}
