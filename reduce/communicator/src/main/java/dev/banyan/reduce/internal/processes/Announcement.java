package dev.banyan.reduce.internal.processes;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Says where process 0 of a job has made the control block. It is no secret, since only processes of the same user can
 * open the block.
 *
 * @param namespace number of the PID namespace in which process 0 has its id
 * @param maker process 0
 * @param descriptor of the block, in that process
 */
record Announcement(long namespace, ProcessId maker, int descriptor) {
    private static final Pattern NAME =
            Pattern.compile("banyan-([0-9]{1,18})-([0-9]{1,18})-([0-9]{1,18})-([0-9]{1,9})");

    /** Returns that of a block that this process has made. */
    static Announcement of(SharedMemory block) throws IOException {
        return new Announcement(ownNamespace(), ProcessId.own(), block.descriptor());
    }

    /** Returns the number of the PID namespace of this process. */
    static long ownNamespace() throws IOException {
        String name = Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString();
        return Long.parseLong(name.substring("pid:[".length(), name.length() - 1));
    }

    /** Returns what {@link #fileName} has made, or nothing if the name is something else. */
    static Optional<Announcement> parse(String name) {
        Matcher fields = NAME.matcher(name);
        return fields.matches()
                ? Optional.of(new Announcement(
                        Long.parseLong(fields.group(1)),
                        new ProcessId(Long.parseLong(fields.group(2)), Long.parseLong(fields.group(3))),
                        Integer.parseInt(fields.group(4))))
                : Optional.empty();
    }

    /** Returns it as the name of a file. */
    String fileName() {
        return "banyan-" + namespace + "-" + maker.pid() + "-" + maker.start() + "-" + descriptor;
    }

    /** Returns whether this process can find the maker by its id, or see that it has ended. */
    boolean isVisible() throws IOException {
        return namespace == ownNamespace();
    }

    /** Opens the block, as {@link SharedMemory#open} does. */
    SharedMemory open(int processes) {
        return ControlBlock.open(maker, descriptor, processes);
    }
}
