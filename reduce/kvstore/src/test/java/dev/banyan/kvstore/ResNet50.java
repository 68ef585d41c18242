package dev.banyan.kvstore;

import java.util.Arrays;

/** The gradients of ResNet-50 v2 as MXNet's symbol has it. */
final class ResNet50 {
    /** From the input layer to the output layer; NxR means R keys of N elements. */
    private static final String COUNTS = """
        3x2 9408 64x4 4096 64x2 36864 64x2 16384x2 256x2 16384 64x2 36864 64x2 16384 256x2 16384 64x2 36864
        64x2 16384 256x2 32768 128x2 147456 128x2 65536 131072 512x2 65536 128x2 147456 128x2 65536 512x2
        65536 128x2 147456 128x2 65536 512x2 65536 128x2 147456 128x2 65536 512x2 131072 256x2 589824 256x2
        262144 524288 1024x2 262144 256x2 589824 256x2 262144 1024x2 262144 256x2 589824 256x2 262144 1024x2
        262144 256x2 589824 256x2 262144 1024x2 262144 256x2 589824 256x2 262144 1024x2 262144 256x2 589824
        256x2 262144 1024x2 524288 512x2 2359296 512x2 1048576 2097152 2048x2 1048576 512x2 2359296 512x2
        1048576 2048x2 1048576 512x2 2359296 512x2 1048576 2048x2 2048000 1000
        """;

    private ResNet50() {}

    /** Returns the length of each of the 157 keys in elements. */
    static long[] counts() {
        return Arrays.stream(COUNTS.strip().split("\\s+"))
                .flatMapToLong(item -> {
                    String[] parts = item.split("x", -1);
                    long[] keys = new long[parts.length == 1 ? 1 : Integer.parseInt(parts[1])];
                    Arrays.fill(keys, Long.parseLong(parts[0]));
                    return Arrays.stream(keys);
                })
                .toArray();
    }
}
