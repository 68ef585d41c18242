package dev.banyan.reduce.internal.processes;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Lets each process of a job give some bytes to all others. Nobody else meets by that job. Safe for use from any
 * thread.
 */
public final class Exchange implements AutoCloseable {
    private static final int BYTES = 64 << 10;
    /** The number of bytes comes first. */
    private static final int FIRST = Integer.BYTES;

    private final Job job;
    private final long timeoutNanos;
    private final SharedMemory own;
    private final List<SharedMemory> others = new ArrayList<>();

    /**
     * Waits until all processes have made theirs.
     *
     * @param job the processes
     * @param timeoutNanos how long it waits for them, here and later
     * @throws IllegalStateException if a process has ended or left
     * @throws dev.banyan.reduce.backend.CollectiveTimeoutException if a process is late
     */
    public Exchange(Job job, long timeoutNanos) {
        this.job = job;
        this.timeoutNanos = timeoutNanos;
        own = SharedMemory.create("banyan-exchange", BYTES);
        try {
            job.block().setPiece(job.process(), 0, own.descriptor(), BYTES);
            job.meet("joining", timeoutNanos);
            for (int process = 0; process < job.processes(); process++) {
                others.add(process == job.process() ? own : job.block().open(process, 0));
            }
        } catch (Throwable e) {
            close();
            throw e;
        }
    }

    /** Returns the number of this process. */
    public int process() {
        return job.process();
    }

    /**
     * Gives bytes to the others, waits for theirs, and returns when all have them.
     *
     * @param what this process does, the same in all of them
     * @param given at most 65,532 bytes
     * @return what each process has given
     * @throws IllegalStateException if a process does something else, has ended or has left
     * @throws dev.banyan.reduce.backend.CollectiveTimeoutException if a process is late
     */
    public synchronized List<byte[]> swap(String what, byte[] given) {
        if (given.length > BYTES - FIRST) {
            throw new IllegalArgumentException(
                    given.length + " bytes for the other processes; give at most " + (BYTES - FIRST));
        }
        own.memory().set(ValueLayout.JAVA_INT, 0, given.length);
        MemorySegment.copy(given, 0, own.memory(), ValueLayout.JAVA_BYTE, FIRST, given.length);
        job.block().setCall(job.process(), ControlBlock.fingerprint(what));
        job.meet(what, timeoutNanos);
        List<byte[]> all = new ArrayList<>();
        for (int process = 0; process < job.processes(); process++) {
            if (job.block().call(process) != ControlBlock.fingerprint(what)) {
                job.fail();
                throw new IllegalStateException("process " + process + " does something else than " + what
                        + " of this process; let all processes make the same calls in the same order, on GPUs of one"
                        + " kind");
            }
            MemorySegment bytes = others.get(process).memory();
            all.add(bytes.asSlice(FIRST, bytes.get(ValueLayout.JAVA_INT, 0)).toArray(ValueLayout.JAVA_BYTE));
        }
        // From here on each may give something else.
        job.meet(what, timeoutNanos);
        return all;
    }

    /**
     * Gives descriptors to the others, as {@link #swap} gives bytes, and closes them.
     *
     * @param given at most 253, which is the kernel's limit
     * @return copies of what each process has given, which the caller closes
     * @throws IllegalStateException also if the kernel passes no descriptors
     */
    public synchronized List<int[]> swapDescriptors(String what, int... given) {
        List<int[]> all = new ArrayList<>();
        try (DescriptorSocket socket = new DescriptorSocket()) {
            byte[] own = ByteBuffer.allocate(2 * Integer.BYTES)
                    .putInt(socket.descriptor())
                    .putInt(given.length)
                    .array();
            List<ByteBuffer> givers =
                    swap(what, own).stream().map(ByteBuffer::wrap).toList();
            // Those that give some take turns, as few messages fit into a socket.
            for (int giver = 0; giver < givers.size(); giver++) {
                int number = givers.get(giver).getInt(Integer.BYTES);
                if (number == 0) {
                    all.add(new int[0]);
                    continue;
                }
                IOException refusal = giver == job.process() ? send(socket, givers, given) : null;
                // If a process has ended, which refuses descriptors, the meeting names it.
                job.meet(what, timeoutNanos);
                if (refusal != null) {
                    throw refusal;
                }
                all.add(socket.receive(number));
            }
            return all;
        } catch (IOException e) {
            closeDescriptors(all);
            job.fail();
            throw new IllegalStateException("this process cannot share its memory: " + e.getMessage(), e);
        } catch (Throwable e) {
            closeDescriptors(all);
            throw e;
        } finally {
            LinuxCalls.close(given);
        }
    }

    /** Gives descriptors to all processes, and returns why that fails, or null. */
    private @Nullable IOException send(DescriptorSocket socket, List<ByteBuffer> receivers, int[] given) {
        try {
            for (int other = 0; other < receivers.size(); other++) {
                socket.send(job.block().id(other), receivers.get(other).getInt(0), given);
            }
            return null;
        } catch (IOException e) {
            return e;
        }
    }

    /** Closes descriptors that processes have given. */
    public static void closeDescriptors(List<int[]> descriptors) {
        descriptors.forEach(LinuxCalls::close);
    }

    @Override
    public void close() {
        others.stream().filter(memory -> !memory.equals(own)).forEach(SharedMemory::close);
        own.close();
    }
}
