package dev.banyan.reduce.internal.processes;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** Tells this process's user from others, by what the kernel says. */
final class Users {
    private static final String USERS = "Uid:";
    /** The effective user, by whose rights a process works. */
    private static final int EFFECTIVE = 1;

    private Users() {}

    /** Returns the number of the user of this process. */
    static int own() throws IOException {
        return ofProcess(Path.of("/proc/self")).get(EFFECTIVE);
    }

    /**
     * Returns the users of a process: the real, the effective, the saved one and that of files. They differ in a
     * program that one user started and that works for another one.
     *
     * @param process the kernel's folder of the process
     */
    static List<Integer> ofProcess(Path process) throws IOException {
        for (String line : Files.readAllLines(process.resolve("status"), StandardCharsets.ISO_8859_1)) {
            if (line.startsWith(USERS)) {
                return Arrays.stream(line.substring(USERS.length()).strip().split("\\s+"))
                        .map(Integer::parseUnsignedInt)
                        .toList();
            }
        }
        throw new IOException(process + "/status names no user");
    }
}
