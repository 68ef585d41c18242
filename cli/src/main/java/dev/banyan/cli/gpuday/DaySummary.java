package dev.banyan.cli.gpuday;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The summary of a folder, as its JSON file has it.
 *
 * @param format always {@link #FORMAT}
 * @param version of the format
 * @param machine on which the parts ran
 * @param driver CUDA's version, or why it is not known
 * @param cards a line for each GPU
 * @param seconds how long all parts took
 * @param budgetSeconds how long they might have taken
 * @param quick whether arrays and repetitions were as few as possible, so that figures mean nothing
 * @param parts all parts, in the order in which they ran
 */
record DaySummary(
        String format,
        int version,
        Environment machine,
        String driver,
        List<String> cards,
        double seconds,
        double budgetSeconds,
        boolean quick,
        List<Entry> parts) {
    static final String FORMAT = "banyan gpu-day";
    static final int VERSION = 1;

    /**
     * What one part did.
     *
     * @param file its own JSON file
     */
    record Entry(
            String part, PartResult.Status status, @Nullable String reason, double seconds, String file) {}
}
