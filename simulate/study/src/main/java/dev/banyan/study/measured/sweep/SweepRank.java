package dev.banyan.study.measured.sweep;

import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A line of the header of nccl-tests that says where a rank runs.
 *
 * @param rank its number
 * @param pid the process
 * @param host name of its machine; may be empty
 * @param device number of the device in the process
 * @param busId bus id of the device, as printed; may be short
 * @param model name of the device
 */
public record SweepRank(int rank, long pid, String host, int device, String busId, String model) {
    private static final Pattern LINE = Pattern.compile("#\\s*Rank\\s+(\\d{1,6})\\s+(?:Group\\s+\\d+\\s+)?Pid\\s+"
            + "(\\d{1,12})\\s+on\\s+(?:(\\S+)\\s+)?device\\s+(\\d{1,6})\\s+\\[([^\\]]*)\\]\\s*(.*?)\\s*$");

    static Optional<SweepRank> find(String line) {
        Matcher found = LINE.matcher(line);
        return found.find()
                ? Optional.of(new SweepRank(
                        Integer.parseInt(found.group(1)),
                        Long.parseLong(found.group(2)),
                        found.group(3) == null ? "" : found.group(3),
                        Integer.parseInt(found.group(4)),
                        found.group(5).toLowerCase(Locale.ROOT),
                        found.group(6)))
                : Optional.empty();
    }
}
