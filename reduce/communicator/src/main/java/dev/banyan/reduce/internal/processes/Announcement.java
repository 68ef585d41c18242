package dev.banyan.reduce.internal.processes;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Says where process 0 of a job has made the control block. It is no secret, since only processes of the same user can
 * open the block.
 *
 * @param maker process 0
 * @param descriptor of the block, in that process
 */
record Announcement(ProcessId maker, int descriptor) {
    private static final Pattern NAME = Pattern.compile("banyan-([0-9]{1,18})-([0-9]{1,18})-([0-9]{1,9})");

    /** Returns that of a block that this process has made. */
    static Announcement of(SharedMemory block) {
        return new Announcement(ProcessId.own(), block.descriptor());
    }

    /** Returns what {@link #fileName} has made, or nothing if the name is something else. */
    static Optional<Announcement> parse(String name) {
        Matcher fields = NAME.matcher(name);
        return fields.matches()
                ? Optional.of(new Announcement(
                        new ProcessId(Long.parseLong(fields.group(1)), Long.parseLong(fields.group(2))),
                        Integer.parseInt(fields.group(3))))
                : Optional.empty();
    }

    /** Returns it as the name of a file. */
    String fileName() {
        return "banyan-" + maker.pid() + "-" + maker.start() + "-" + descriptor;
    }

    /** Opens the block, as {@link SharedMemory#open} does. */
    SharedMemory open(int processes) {
        return ControlBlock.open(maker, descriptor, processes);
    }
}
