package dev.banyan.reduce.internal.processes;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A process that joins with one rank and prints how that ended. Arguments: its number, the number of processes and the
 * folder. With a fourth argument it stops when the others can see it. With a port and a time in ns it begins when the
 * server at the port hangs up, and ends that time later as a kill does.
 */
final class JoiningProgram {
    private JoiningProgram() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] arguments) throws IOException {
        JobPlace place = new JobPlace(Integer.parseInt(arguments[0]), Integer.parseInt(arguments[1]), arguments[2]);
        long timeoutNanos = TimeUnit.MINUTES.toNanos(15);
        if (arguments.length == 4) {
            SharedMemory memory = new FolderMeeting(place).open(System.nanoTime() + timeoutNanos);
            ControlBlock.of(memory.memory(), place.processes()).join(place.process(), ProcessId.own(), 1, 0);
            System.out.println("known");
            while (true) {
                LockSupport.park();
            }
        }
        if (arguments.length == 5) {
            try (Socket server = new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[3]))) {
                int _ = server.getInputStream().read();
            }
            endAfter(Long.parseLong(arguments[4]));
        }
        try (Job job = Job.join(place, 1, "", timeoutNanos)) {
            System.out.println("joined " + job.processes());
        } catch (RuntimeException e) {
            System.out.println("failed: " + e.getMessage());
        }
    }

    /** Ends this process as a kill does: nothing is cleaned up. */
    private static void endAfter(long nanos) {
        long begin = System.nanoTime();
        Thread.ofPlatform().daemon().start(() -> {
            while (System.nanoTime() - begin < nanos) {
                Thread.onSpinWait();
            }
            Runtime.getRuntime().halt(137);
        });
    }
}
