package dev.banyan.nccl.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The communicators of NCCL of all ranks, which this process holds: one for each device. Safe for use from any thread;
 * one call runs at a time.
 */
public final class NcclCommunicators implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(NcclCommunicators.class);

    private final NcclLibrary library;
    /** Receives an error of a rank. */
    private final MemorySegment found = Arena.ofAuto().allocate(ValueLayout.JAVA_INT);
    /** {@code ncclComm_t} of each rank; empty after {@link #abort} and {@link #close}. */
    private long[] handles;

    private NcclCommunicators(NcclLibrary library, long[] handles) {
        this.library = library;
        this.handles = handles;
    }

    /**
     * Makes the communicators. It takes seconds, and NCCL has no limit for it.
     *
     * @param devices the device of each rank, as CUDA counts them; all differ
     * @throws NcclException if NCCL refuses that
     */
    public static NcclCommunicators of(NcclLibrary library, int... devices) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment handles = arena.allocate(ValueLayout.JAVA_LONG, devices.length);
            library.check(
                    NcclFunction.COMM_INIT_ALL,
                    "of " + devices.length + " devices",
                    0,
                    handles,
                    devices.length,
                    arena.allocateFrom(ValueLayout.JAVA_INT, devices));
            return new NcclCommunicators(library, handles.toArray(ValueLayout.JAVA_LONG));
        }
    }

    /**
     * Puts a collective into a stream of each rank.
     *
     * @param inputs address of each rank's input; ignored where it has none, and in place
     * @param outputs address of each rank's output; in place, of its only buffer
     * @param streams {@code CUstream} of each rank, of its device's primary context
     * @throws NcclException if NCCL refuses that; what it has put into some streams waits until {@link #abort}
     */
    public synchronized void start(NcclOperation operation, long[] inputs, long[] outputs, long[] streams) {
        if (handles.length == 0) {
            throw new NcclException("the communicators of NCCL were ended; create a new communicator");
        }
        library.check(NcclFunction.GROUP_START, "", 0);
        NcclException failure = null;
        for (int rank = 0; rank < handles.length && failure == null; rank++) {
            try {
                start(
                        operation,
                        rank,
                        operation.input(rank, inputs[rank], outputs[rank]),
                        operation.output(rank, outputs[rank]),
                        streams[rank]);
            } catch (NcclException e) {
                failure = e;
            }
        }
        int ended = library.call(NcclFunction.GROUP_END);
        if (failure != null) {
            throw failure;
        }
        if (ended != NcclLibrary.SUCCESS) {
            throw new NcclException(
                    NcclFunction.GROUP_END.function.symbol() + ": " + library.explain(ended, handles[0]));
        }
    }

    private void start(NcclOperation operation, int rank, long input, long output, long stream) {
        long handle = handles[rank];
        String what = "of rank " + rank;
        long count = operation.count();
        int type = operation.ncclType();
        int op = operation.ncclOp(handles.length);
        int root = operation.root();
        switch (operation.collective()) {
            case ALL_REDUCE ->
                library.check(NcclFunction.ALL_REDUCE, what, handle, input, output, count, type, op, handle, stream);
            case REDUCE ->
                library.check(NcclFunction.REDUCE, what, handle, input, output, count, type, op, root, handle, stream);
            case BROADCAST ->
                library.check(NcclFunction.BROADCAST, what, handle, input, output, count, type, root, handle, stream);
            case REDUCE_SCATTER ->
                library.check(
                        NcclFunction.REDUCE_SCATTER, what, handle, input, output, count, type, op, handle, stream);
            case ALL_GATHER ->
                library.check(NcclFunction.ALL_GATHER, what, handle, input, output, count, type, handle, stream);
        }
    }

    /** Returns what went wrong in a collective that was started, or null if nothing is known to have. */
    public synchronized @Nullable String asyncError() {
        for (int rank = 0; rank < handles.length; rank++) {
            int result = library.call(NcclFunction.COMM_GET_ASYNC_ERROR, handles[rank], found);
            int error = result == NcclLibrary.SUCCESS ? found.get(ValueLayout.JAVA_INT, 0) : result;
            if (error != NcclLibrary.SUCCESS && error != NcclLibrary.IN_PROGRESS) {
                return "NCCL reports of rank " + rank + ": " + library.explain(error, handles[rank]);
            }
        }
        return null;
    }

    /**
     * Ends what was started, and frees the communicators. It may wait for the devices. All later collectives fail.
     *
     * @throws NcclException if NCCL refuses that for a rank; the other ranks are ended
     */
    public synchronized void abort() {
        end(NcclFunction.COMM_ABORT);
    }

    /** Frees the communicators; nothing runs. What NCCL refuses is logged. */
    @Override
    public synchronized void close() {
        try {
            end(NcclFunction.COMM_DESTROY);
        } catch (NcclException e) {
            LOG.warn("NCCL keeps memory until the process ends", e);
        }
    }

    private void end(NcclFunction function) {
        List<NcclException> failures = new ArrayList<>();
        for (int rank = 0; rank < handles.length; rank++) {
            try {
                library.check(function, "of rank " + rank, handles[rank], handles[rank]);
            } catch (NcclException e) {
                failures.add(e);
            }
        }
        handles = new long[0];
        if (!failures.isEmpty()) {
            throw failures.getFirst();
        }
    }
}
