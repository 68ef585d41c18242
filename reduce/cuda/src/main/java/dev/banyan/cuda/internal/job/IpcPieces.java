package dev.banyan.cuda.internal.job;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.memory.OwnPieces;
import dev.banyan.cuda.internal.memory.ProgramPieces;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.reduce.internal.processes.Exchange;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.IntUnaryOperator;
import jcuda.driver.CUstream;

/**
 * Pieces of memory of devices of several processes. Each process allocates those of its own devices, and opens the
 * others' by handles that all exchange when they share. All processes add the same pieces in the same order.
 */
final class IpcPieces implements ProgramPieces {
    /** The driver exports whole blocks of this length, in which it would also place other small allocations. */
    private static final long BLOCK_BYTES = 2 << 20;

    /**
     * A piece of any process.
     *
     * @param own its number among this process's pieces, or -1
     * @param seen where it begins as the devices of this process see it, if it is of another one
     */
    private record Piece(int place, int own, Map<CudaDevice, Long> seen) {}

    private final Ranks ranks;
    private final OwnPieces own;
    private final Exchange exchange;
    private final IntUnaryOperator processOf;
    private final List<Piece> pieces = new ArrayList<>();
    /** The number of pieces that are shared. */
    private int shared;

    /**
     * @param own allocates the pieces of this process
     * @param exchange of the processes
     * @param processOf returns the process of a place
     */
    IpcPieces(Ranks ranks, OwnPieces own, Exchange exchange, IntUnaryOperator processOf) {
        this.ranks = ranks;
        this.own = own;
        this.exchange = exchange;
        this.processOf = processOf;
    }

    @Override
    public synchronized int add(int place, long bytes, boolean lines) {
        long blocks = Math.ceilDiv(bytes, BLOCK_BYTES) * BLOCK_BYTES;
        pieces.add(new Piece(place, ranks.holdsPlace(place) ? own.add(place, blocks, lines) : -1, new HashMap<>()));
        return pieces.size() - 1;
    }

    @Override
    public long leastBytes() {
        return BLOCK_BYTES;
    }

    /**
     * {@inheritDoc} Waits for the others, which share the same.
     *
     * @throws IllegalStateException if they share something else, or one has ended
     * @throws CudaException if a device cannot open memory of another process
     */
    @Override
    public synchronized void share(String what) {
        ByteArrayOutputStream handles = new ByteArrayOutputStream();
        for (Piece piece : pieces.subList(shared, pieces.size())) {
            if (piece.own() >= 0) {
                ranks.at(piece.place()).enter();
                handles.writeBytes(IpcHandle.of(own.address(piece.own())));
            }
        }
        List<byte[]> given = exchange.swap(what, handles.toByteArray());
        int[] taken = new int[given.size()];
        for (Piece piece : pieces.subList(shared, pieces.size())) {
            int process = processOf.applyAsInt(piece.place());
            int at = taken[process];
            taken[process] += IpcHandle.BYTES;
            if (piece.own() < 0) {
                open(piece, Arrays.copyOfRange(given.get(process), at, at + IpcHandle.BYTES));
            }
        }
        shared = pieces.size();
    }

    private void open(Piece piece, byte[] handle) {
        for (CudaDevice viewer : ranks.held().stream().distinct().toList()) {
            viewer.enter();
            piece.seen().put(viewer, IpcHandle.open(handle, viewer, ranks.ranksOf(piece.place())));
        }
    }

    @Override
    public synchronized long address(int piece, CudaDevice viewer) {
        Piece wanted = pieces.get(piece);
        if (wanted.own() >= 0) {
            return own.address(wanted.own());
        }
        Long address = wanted.seen().get(viewer);
        if (address == null) {
            throw new IllegalStateException("piece " + piece + " was not shared");
        }
        return address;
    }

    @Override
    public void clearLines(Function<CudaDevice, CUstream> streams) {
        own.clearLines(streams);
    }

    /** Closes the memory of other processes; nothing runs. */
    synchronized void closeOthers() {
        for (Piece piece : pieces) {
            piece.seen().forEach((viewer, address) -> {
                viewer.enter();
                IpcHandle.close(address);
            });
            piece.seen().clear();
        }
    }

    @Override
    public List<Integer> free() {
        return own.free();
    }
}
