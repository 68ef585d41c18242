package dev.banyan.topology;

import java.util.Optional;

/**
 * Finds out what is in the machine that the program runs on. Providers are found by {@link
 * java.util.ServiceLoader}.
 */
public interface MachineProbe {
    /** Name of the technology, e.g. {@code nvml}. */
    String name();

    /**
     * Looks at this machine.
     *
     * @return the machine, or empty where this probe finds no driver or no device
     * @throws IllegalStateException if a driver is there and fails; the message says how and what to do
     */
    Optional<Machine> probe();
}
