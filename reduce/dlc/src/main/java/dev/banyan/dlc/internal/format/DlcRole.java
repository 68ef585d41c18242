package dev.banyan.dlc.internal.format;

/** The role of a node of a trace. */
public enum DlcRole {
    /** Computes gradients, pushes them and pulls what became of them; nodes 0..W-1. */
    WORKER("worker", 'w'),
    /** Holds keys; nodes W..W+S-1. */
    SERVER("server", 's');

    private final String label;
    private final char letter;

    DlcRole(String label, char letter) {
        this.label = label;
        this.letter = letter;
    }

    /** Name as the header writes it. */
    public String label() {
        return label;
    }

    /** Letter that stands before an index in ids of operations. */
    public char letter() {
        return letter;
    }

    /** The role that this one talks to. */
    public DlcRole other() {
        return this == WORKER ? SERVER : WORKER;
    }
}
