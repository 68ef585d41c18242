package dev.banyan.reduce.internal.processes;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * The rights of a process, as the kernel says.
 *
 * @param lines of the process's file {@code status}
 */
record ProcessStatus(List<String> lines) {
    /** The effective user or group, by whose rights a process works. */
    private static final int EFFECTIVE = 1;

    /** Returns that of this process. */
    static ProcessStatus own() throws IOException {
        return of(Path.of("/proc/self"));
    }

    /** @param process the kernel's folder of the process */
    static ProcessStatus of(Path process) throws IOException {
        return new ProcessStatus(Files.readAllLines(process.resolve("status"), StandardCharsets.ISO_8859_1));
    }

    /** Returns the number of the user by whose rights the process works. */
    int user() throws IOException {
        return users().get(EFFECTIVE);
    }

    /**
     * Returns its users: the real, the effective, the saved one and that of files. They differ in a program that one
     * user started and that works for another one.
     */
    List<Integer> users() throws IOException {
        return numbers("Uid:");
    }

    /** Returns the number of the group by whose rights the process works. */
    int group() throws IOException {
        return groups().get(EFFECTIVE);
    }

    /** Returns its groups, in the order of {@link #users}. */
    List<Integer> groups() throws IOException {
        return numbers("Gid:");
    }

    /** Returns the capabilities that the process uses, as bits. */
    long capabilities() throws IOException {
        return Long.parseUnsignedLong(value("CapEff:"), 16);
    }

    /** Returns the capabilities that the process may use, as bits. */
    long permittedCapabilities() throws IOException {
        return Long.parseUnsignedLong(value("CapPrm:"), 16);
    }

    /** Returns whether the process has given back its memory, as one does that ends. */
    boolean isEnding() {
        return lines.stream().noneMatch(line -> line.startsWith("VmSize:"));
    }

    private List<Integer> numbers(String name) throws IOException {
        return Arrays.stream(value(name).split("\\s+"))
                .map(Integer::parseUnsignedInt)
                .toList();
    }

    private String value(String name) throws IOException {
        return lines.stream()
                .filter(line -> line.startsWith(name))
                .map(line -> line.substring(name.length()).strip())
                .findFirst()
                .orElseThrow(() -> new IOException("the kernel's status of a process has no line " + name));
    }
}
