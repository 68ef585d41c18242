package dev.banyan.cli.input;

import java.util.Arrays;
import java.util.HashSet;
import java.util.OptionalInt;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * Devices as {@code --devices} names them, in the order of ranks: {@code 4,2,3,1}, {@code 0-3}, {@code 7-4,0}; also,
 * where several ranks may share one, {@code 0,0,0,0}.
 */
public final class DeviceList {
    private static final Pattern ITEM = Pattern.compile("(\\d{1,6})(?:-(\\d{1,6}))?");

    private final int[] indices;

    private DeviceList(int[] indices) {
        this.indices = indices;
    }

    /** Device indices; a new array. */
    public int[] indices() {
        return indices.clone();
    }

    /** Refuses a list that names a device twice. */
    DeviceList distinct() {
        repeated().ifPresent(device -> {
            throw new IllegalArgumentException("device " + device + " is named twice; name each device once");
        });
        return this;
    }

    /** The first device that is named for the second time. */
    public OptionalInt repeated() {
        Set<Integer> seen = new HashSet<>();
        return Arrays.stream(indices).filter(device -> !seen.add(device)).findFirst();
    }

    /** Returns the first devices of a machine. */
    static DeviceList first(int count) {
        return new DeviceList(IntStream.range(0, count).toArray());
    }

    /**
     * Reads a list.
     *
     * @throws IllegalArgumentException if it is no list
     */
    public static DeviceList parse(String text) {
        int[] indices = Arrays.stream(text.split(",", -1))
                .map(String::strip)
                .flatMapToInt(item -> {
                    Matcher matcher = ITEM.matcher(item);
                    if (!matcher.matches()) {
                        throw new IllegalArgumentException(
                                "'" + text + "' is not a list of devices; write indices such as 4,2,3,1 or 0-3");
                    }
                    int from = Integer.parseInt(matcher.group(1));
                    int to = matcher.group(2) == null ? from : Integer.parseInt(matcher.group(2));
                    return from <= to
                            ? IntStream.rangeClosed(from, to)
                            : IntStream.rangeClosed(to, from).map(i -> from + to - i);
                })
                .toArray();
        return new DeviceList(indices);
    }
}
