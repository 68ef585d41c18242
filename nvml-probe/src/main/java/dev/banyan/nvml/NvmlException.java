package dev.banyan.nvml;

import dev.banyan.BanyanException;

/** Thrown if a call of NVML failed. The message is one sentence: which call, on what, why, and what to do. */
final class NvmlException extends BanyanException {
    private static final long serialVersionUID = 1;

    private final int code;

    /**
     * @param subject the device or link, e.g. {@code GPU3}, or an empty string for the library
     * @param code the code that the call returned
     */
    NvmlException(NvmlCall call, String subject, int code) {
        super((subject.isEmpty() ? "" : subject + ": ") + call.function.symbol() + " says " + NvmlReturn.explain(code));
        this.code = code;
    }

    /** Returns the message. */
    String sentence() {
        return String.valueOf(getMessage());
    }

    boolean is(NvmlReturn value) {
        return code == value.code();
    }
}
