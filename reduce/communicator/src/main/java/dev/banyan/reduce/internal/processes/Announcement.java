package dev.banyan.reduce.internal.processes;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where process 0 of a job has made the control block. This is no secret, since only processes of the same user can
 * open the block.
 *
 * @param maker process 0
 * @param descriptor of the block, in that process
 */
record Announcement(ProcessId maker, int descriptor) {
    private static final Pattern LINE = Pattern.compile("banyan ([0-9]{1,18}) ([0-9]{1,18}) ([0-9]{1,9})\\s*");

    /** Returns that of a block that this process has made. */
    static Announcement of(SharedMemory block) {
        return new Announcement(ProcessId.own(), block.descriptor());
    }

    /** Returns what {@link #line} has written, or nothing if the text is something else. */
    static Optional<Announcement> parse(String text) {
        Matcher fields = LINE.matcher(text);
        return fields.matches()
                ? Optional.of(new Announcement(
                        new ProcessId(Long.parseLong(fields.group(1)), Long.parseLong(fields.group(2))),
                        Integer.parseInt(fields.group(3))))
                : Optional.empty();
    }

    /** Returns it as a line of text. */
    String line() {
        return "banyan " + maker.pid() + " " + maker.start() + " " + descriptor + "\n";
    }

    /** Opens the block, as {@link SharedMemory#open} does. */
    SharedMemory open(int processes) {
        return ControlBlock.open(maker, descriptor, processes);
    }
}
