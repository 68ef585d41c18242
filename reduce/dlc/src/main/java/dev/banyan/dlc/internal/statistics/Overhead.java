package dev.banyan.dlc.internal.statistics;

/**
 * The shares of a run's time, without initialisation. Servers' traces alone show the time at servers, and workers'
 * traces the time at workers.
 *
 * <p>The paper on SketchDLC reports such overheads; the definitions here are in terms of the dependencies that
 * its traces hold.
 */
public enum Overhead {
    /**
     * From when a worker has a key's value until it pushes the key's next gradient: the delay of pushes that
     * depend on pulls (type 4).
     */
    COMPUTATION("computation"),
    /** From when a worker pushes a gradient until it hears that it has been worked in (type 1 at workers). */
    PUSH("push"),
    /** From then until the worker asks for the value (type 2 at workers). */
    WAIT("wait"),
    /** From when a worker asks for a value until it has it (type 3 at workers). */
    PULL("pull"),
    /** From when a server has the first worker's gradient of a key until it has the last one's. */
    SYNCHRONISATION("synchronisation"),
    /** From when a server has all gradients of a key until it acknowledges the first: sum and update. */
    UPDATE("update"),
    /** From when a server is asked for a value until it sends it (type 3 at servers). */
    SEARCH("search");

    private final String label;

    Overhead(String label) {
        this.label = label;
    }

    /** Name for people and programs. */
    public String label() {
        return label;
    }
}
