package dev.banyan.mpi;

import dev.banyan.reduce.internal.processes.ControlBlock;
import dev.banyan.reduce.internal.processes.Meeting;
import dev.banyan.reduce.internal.processes.ProcessId;
import dev.banyan.reduce.internal.processes.SharedMemory;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;

/**
 * The processes of each machine find their control block by MPI. All processes of all machines learn whether every one
 * could open its block, so that they go on alike.
 */
final class MachineMeeting implements Meeting {
    /** Some process cannot open the memory of another one of its machine. */
    static final class NoSharedMemoryException extends RuntimeException {
        private static final long serialVersionUID = 1;

        NoSharedMemoryException(@Nullable RuntimeException cause) {
            super(
                    cause == null
                            ? "another process cannot open the shared memory of its machine; see what it logs"
                            : cause.getMessage(),
                    cause);
        }
    }

    private final MpiProcesses all;
    private final MpiProcesses machine;

    /**
     * @param all processes of all machines
     * @param machine those of this machine
     */
    MachineMeeting(MpiProcesses all, MpiProcesses machine) {
        this.all = all;
        this.machine = machine;
    }

    @Override
    public SharedMemory open(long deadline) {
        SharedMemory opened = null;
        RuntimeException failure = null;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment place = arena.allocate(ValueLayout.JAVA_LONG, 3);
            if (machine.rank() == 0) {
                try {
                    opened = ControlBlock.make(machine.size());
                    write(place, ProcessId.own(), opened.descriptor());
                } catch (RuntimeException e) {
                    failure = e;
                }
            }
            machine.broadcast(place, 3, DataType.I64, 0);
            if (machine.rank() != 0) {
                try {
                    opened = read(place);
                } catch (RuntimeException e) {
                    failure = e;
                }
            }
            boolean haveAll = all.allHave(failure == null);
            if (opened == null || !haveAll) {
                throw new NoSharedMemoryException(failure);
            }
            return opened;
        } catch (Throwable e) {
            if (opened != null) {
                opened.close();
            }
            throw e;
        }
    }

    private static void write(MemorySegment place, ProcessId maker, int descriptor) {
        place.setAtIndex(ValueLayout.JAVA_LONG, 0, maker.pid());
        place.setAtIndex(ValueLayout.JAVA_LONG, 1, maker.start());
        place.setAtIndex(ValueLayout.JAVA_LONG, 2, descriptor);
    }

    private SharedMemory read(MemorySegment place) {
        ProcessId maker =
                new ProcessId(place.getAtIndex(ValueLayout.JAVA_LONG, 0), place.getAtIndex(ValueLayout.JAVA_LONG, 1));
        return ControlBlock.open(maker, (int) place.getAtIndex(ValueLayout.JAVA_LONG, 2), machine.size());
    }

    /** Does nothing: MPI keeps nothing. */
    @Override
    public void close() {}
}
