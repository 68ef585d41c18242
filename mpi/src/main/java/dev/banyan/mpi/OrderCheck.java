package dev.banyan.mpi;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;

/**
 * Compares texts of the processes of a group, such as what they are about to do: each process gathers the texts of all.
 * A comparison costs one gather of 256 bytes per process. Not safe for use from several threads at once; all processes
 * compare in the same order.
 */
final class OrderCheck {
    private static final int RECORD = 256;
    /** Offset of the text in a record. The hash of the whole text is before it, so that truncated parts count too. */
    private static final int TEXT = Integer.BYTES;

    private final MpiLibrary mpi;
    private final MemorySegment communicator;
    private final MemorySegment type;
    private final int size;
    private final MemorySegment mine = Arena.ofAuto().allocate(RECORD);
    private final MemorySegment all;

    OrderCheck(MpiLibrary mpi, MemorySegment communicator, int size) {
        this.mpi = mpi;
        this.communicator = communicator;
        this.size = size;
        type = mpi.handle("ompi_mpi_byte");
        all = Arena.ofAuto().allocate((long) RECORD * size);
    }

    /**
     * Checks that all processes are about to do the same.
     *
     * @param what what this process is about to do
     * @throws OrderException if another process is about to do something else
     */
    void check(String what) {
        difference(what).ifPresent(both -> {
            throw new OrderException(
                    "the processes run different collectives: " + both + "; run them in one order on all");
        });
    }

    /**
     * Returns two processes whose texts differ, with their texts, or nothing if all texts are the same. The result is
     * the same in all processes.
     *
     * @param what the text of this process
     */
    Optional<String> difference(String what) {
        byte[] text = what.getBytes(StandardCharsets.UTF_8);
        mine.fill((byte) 0);
        mine.set(JAVA_INT, 0, Arrays.hashCode(text));
        MemorySegment.copy(text, 0, mine, JAVA_BYTE, TEXT, Math.min(text.length, RECORD - TEXT - 1));
        mpi.call(MpiCall.ALL_GATHER, mine, RECORD, type, all, RECORD, type, communicator);
        for (int rank = 1; rank < size; rank++) {
            if (record(rank).mismatch(record(0)) >= 0) {
                return Optional.of("rank 0 " + words(0) + ", but rank " + rank + " " + words(rank));
            }
        }
        return Optional.empty();
    }

    private MemorySegment record(int rank) {
        return all.asSlice((long) rank * RECORD, RECORD);
    }

    private String words(int rank) {
        return record(rank).getString(TEXT);
    }
}
