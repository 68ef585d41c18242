package dev.banyan.cli.bench.rank;

import dev.banyan.study.text.ByteSize;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Checks that there is room for buffers before they are touched: afterwards the system ends the process. */
public final class FreeMemory {
    private static final Path MEMINFO = Path.of("/proc/meminfo");
    private static final Pattern AVAILABLE = Pattern.compile("MemAvailable:\\s+(\\d+) kB");

    private FreeMemory() {}

    /**
     * Refuses what does not fit.
     *
     * @param bytes what will be used
     * @param remedy what would need less
     * @throws IllegalStateException if that much memory is not available
     */
    public static void require(long bytes, String remedy) {
        long available = available();
        if (bytes > available) {
            throw new IllegalStateException("the buffers need " + label(bytes) + " of memory and " + label(available)
                    + " are available; " + remedy);
        }
    }

    private static String label(long bytes) {
        return new ByteSize(bytes >> 20 << 20).label();
    }

    /** Returns the bytes that are available without swapping, within the container's limit. */
    private static long available() {
        var system = ManagementFactory.getPlatformMXBean(com.sun.management.OperatingSystemMXBean.class);
        return Math.min(fromMeminfo().orElse(system.getFreeMemorySize()), system.getTotalMemorySize());
    }

    private static OptionalLong fromMeminfo() {
        try {
            Matcher matcher = AVAILABLE.matcher(Files.readString(MEMINFO));
            return matcher.find() ? OptionalLong.of(Long.parseLong(matcher.group(1)) << 10) : OptionalLong.empty();
        } catch (IOException e) {
            // Not Linux: the JVM's figure, which leaves out what caches could give back, has to do.
            return OptionalLong.empty();
        }
    }
}
