package dev.banyan.cli.gpuday;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.stream.Stream;

/**
 * Where and when a day ran.
 *
 * @param date with time and offset, in ISO 8601
 * @param host name of the machine
 * @param system operating system
 * @param processor its model
 * @param processors that the JVM may use
 * @param java version of the JVM
 * @param banyan version of the command
 * @param kernelModule what NVIDIA's kernel module says of itself
 */
record Environment(
        String date,
        String host,
        String system,
        String processor,
        int processors,
        String java,
        String banyan,
        String kernelModule) {
    private static final String UNKNOWN = "not known";

    static Environment here() {
        String version = Environment.class.getPackage().getImplementationVersion();
        return new Environment(
                OffsetDateTime.now(ZoneId.systemDefault())
                        .truncatedTo(ChronoUnit.SECONDS)
                        .toString(),
                firstLine("/proc/sys/kernel/hostname", ""),
                System.getProperty("os.name") + " " + System.getProperty("os.version") + " "
                        + System.getProperty("os.arch"),
                firstLine("/proc/cpuinfo", "model name").replaceFirst("^[^:]*:\\s*", ""),
                Runtime.getRuntime().availableProcessors(),
                System.getProperty("java.vm.vendor") + " " + Runtime.version(),
                version == null ? "not packaged" : version,
                firstLine("/proc/driver/nvidia/version", ""));
    }

    /** The first line of a file that begins with a text. */
    private static String firstLine(String file, String begin) {
        try (Stream<String> lines = Files.lines(Path.of(file))) {
            return lines.filter(line -> line.startsWith(begin))
                    .findFirst()
                    .map(String::strip)
                    .orElse(UNKNOWN);
        } catch (IOException | UncheckedIOException e) {
            return UNKNOWN;
        }
    }
}
