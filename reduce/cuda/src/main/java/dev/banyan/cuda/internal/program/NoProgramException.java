package dev.banyan.cuda.internal.program;

/** Says why a schedule cannot run as a device program; the graph executor then runs it. */
public final class NoProgramException extends Exception {
    private static final long serialVersionUID = 1;

    NoProgramException(String reason) {
        super(reason);
    }
}
