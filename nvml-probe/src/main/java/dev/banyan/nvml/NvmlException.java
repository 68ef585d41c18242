package dev.banyan.nvml;

/** A call of NVML that failed. The message is one sentence: which call, on what, why, and what to do. */
final class NvmlException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int code;

    /**
     * @param subject what was asked about, e.g. {@code GPU3}; empty where it is the library itself
     * @param code what the call returned
     */
    NvmlException(NvmlCall call, String subject, int code) {
        super((subject.isEmpty() ? "" : subject + ": ") + call.symbol() + " says " + NvmlReturn.explain(code));
        this.code = code;
    }

    boolean is(NvmlReturn value) {
        return code == value.code();
    }
}
