package dev.banyan.msccl;

import java.util.Objects;
import java.util.regex.Pattern;

/**
 * The attributes of an exported algorithm besides its steps.
 *
 * @param name its name: 1 to 63 letters, digits and {@code _ . + -}, since the runtime's parser knows no
 *     escapes and keeps no more
 * @param protocol how connections move data
 * @param channels most channels to use, 1..32; a tree gets a channel of its own as far as they go
 * @param threadblocks most threadblocks of a GPU, 1..128. All must run at the same time, so this is at most
 *     the GPU's number of multiprocessors: 80 on V100, 108 on A100, 132 on H100
 * @param minBytes least size in bytes for which the runtime shall take it
 * @param maxBytes greatest size in bytes for which the runtime shall take it
 */
public record MscclOptions(
        String name, MscclProtocol protocol, int channels, int threadblocks, long minBytes, long maxBytes) {
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_.+-]{1,63}");
    private static final int V100_MULTIPROCESSORS = 80;
    private static final long TIB = 1L << 40;

    /**
     * @throws IllegalArgumentException if a value is out of its range
     */
    public MscclOptions {
        Objects.requireNonNull(protocol, "protocol");
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException(
                    "an MSCCL algorithm cannot be named \"" + name + "\"; take 1 to 63 letters, digits and _ . + -");
        }
        if (channels < 1 || channels > Limits.CHANNELS) {
            throw new IllegalArgumentException(channels + " channels; MSCCL takes 1 to " + Limits.CHANNELS);
        }
        if (threadblocks < 1 || threadblocks > Limits.THREADBLOCKS) {
            throw new IllegalArgumentException(threadblocks + " threadblocks; MSCCL takes 1 to " + Limits.THREADBLOCKS);
        }
        if (minBytes < 0 || maxBytes < minBytes) {
            throw new IllegalArgumentException("sizes from " + minBytes + " to " + maxBytes
                    + " bytes; the first must be 0 or more, the second at" + " least the first");
        }
    }

    /** Protocol Simple, all channels, the threadblocks that a V100 can run at once, sizes up to 1 TiB. */
    public static MscclOptions named(String name) {
        return new MscclOptions(name, MscclProtocol.SIMPLE, Limits.CHANNELS, V100_MULTIPROCESSORS, 0, TIB);
    }
}
