package dev.banyan.schedule.plan;

import java.util.Objects;

/**
 * The executor of schedules, as far as the fastest choice depends on it. Results of {@code banyan tune} on one platform
 * say nothing about another.
 *
 * @param backend name of the backend, e.g. {@code cuda}
 * @param execution how it executes schedules
 * @param device number and model of its devices, e.g. {@code 8 x Tesla V100-SXM2-16GB}; empty if it has none
 * @param driver version of what drives them, e.g. {@code CUDA 12.4}; empty if there is none
 */
public record Platform(String backend, Execution execution, String device, String driver) {
    private static final String SIMULATOR = "sim";

    public Platform {
        Objects.requireNonNull(backend, "backend");
        Objects.requireNonNull(execution, "execution");
        Objects.requireNonNull(device, "device");
        Objects.requireNonNull(driver, "driver");
    }

    /** Returns the threads of this process, which play all devices in its memory. */
    public static Platform ofThisHost() {
        return new Platform(
                "host",
                Execution.LOOPS,
                Runtime.getRuntime().availableProcessors() + " x " + System.getProperty("os.arch"),
                "Java " + Runtime.version().feature());
    }

    /** Returns the simulator, which predicts how GPUs would execute schedules. */
    public static Platform simulated(Execution execution) {
        return new Platform(SIMULATOR, execution, "", "");
    }

    boolean isSimulated() {
        return backend.equals(SIMULATOR);
    }
}
