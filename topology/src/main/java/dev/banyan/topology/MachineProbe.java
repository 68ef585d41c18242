package dev.banyan.topology;

/**
 * Describes the machine that the program runs on. Providers are found by {@link
 * java.util.ServiceLoader}.
 */
public interface MachineProbe {
    /** Name of the technology, e.g. {@code nvml}. */
    String name();

    /** Looks at this machine. Never throws: the answer reports what prevented it. */
    Answer probe();

    /** The result of a probe. */
    sealed interface Answer {}

    /**
     * Devices that can be used.
     *
     * @param machine has at least one device
     */
    record Found(Machine machine) implements Answer {
        public Found {
            if (machine.size() == 0) {
                throw new IllegalArgumentException("machine " + machine.name() + " has no devices; answer Absent");
            }
        }
    }

    /**
     * No driver, or no device: what is normal on a machine without GPUs of this kind.
     *
     * @param reason one sentence: what is missing, and what to do if it should be there
     */
    record Absent(String reason) implements Answer {}

    /**
     * A driver is there and fails, or none of its devices can be used.
     *
     * @param reason one sentence: what fails, and what to do
     */
    record Unusable(String reason) implements Answer {}
}
