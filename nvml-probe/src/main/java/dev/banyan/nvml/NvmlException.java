package dev.banyan.nvml;

/** A call of NVML that failed. Its message is one sentence: which call, on what, why, and what to do. */
final class NvmlException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int code;
    private final String sentence;

    /**
     * @param subject what was asked about, e.g. {@code GPU3}; empty where it is the library itself
     * @param code what the call returned
     */
    NvmlException(NvmlCall call, String subject, int code) {
        this((subject.isEmpty() ? "" : subject + ": ") + call.symbol() + " says " + NvmlReturn.explain(code), code);
    }

    private NvmlException(String sentence, int code) {
        super(sentence);
        this.sentence = sentence;
        this.code = code;
    }

    /** The message. */
    String sentence() {
        return sentence;
    }

    boolean is(NvmlReturn value) {
        return code == value.code();
    }
}
