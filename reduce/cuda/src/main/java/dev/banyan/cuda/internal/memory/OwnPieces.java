package dev.banyan.cuda.internal.memory;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.IntSupplier;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/** Pieces of memory of this process's devices, which reach each other's memory by the same addresses. */
public final class OwnPieces implements ProgramPieces {
    /** Allocates memory of devices. */
    public interface Allocation {
        Block allocate(CudaDevice device, long bytes);

        /** @param free frees it and returns the driver's result */
        record Block(DeviceAddress address, IntSupplier free) {}
    }

    private record Piece(CudaDevice device, Allocation.Block block, long bytes, boolean lines) {}

    private final Ranks ranks;
    private final Map<CudaDevice, CopyLane> lanes;
    private final Allocation allocation;
    private final List<Piece> pieces = new ArrayList<>();

    /**
     * @param lanes copies to each device
     * @param allocation of the pieces
     */
    public OwnPieces(Ranks ranks, Map<CudaDevice, CopyLane> lanes, Allocation allocation) {
        this.ranks = ranks;
        this.lanes = lanes;
        this.allocation = allocation;
    }

    @Override
    public synchronized int add(int place, long bytes, boolean lines) {
        CudaDevice device = ranks.at(place);
        Allocation.Block block = allocation.allocate(device, bytes);
        pieces.add(new Piece(device, block, bytes, lines));
        CopyLane.of(device, lanes).clear(block.address(), bytes);
        return pieces.size() - 1;
    }

    @Override
    public long leastBytes() {
        return 1;
    }

    @Override
    public void share(String what) {
        // All of them are of this process.
    }

    @Override
    public long address(int piece, CudaDevice viewer) {
        return address(piece);
    }

    public synchronized long address(int piece) {
        return pieces.get(piece).block().address().value();
    }

    @Override
    public boolean multicasts() {
        return false;
    }

    @Override
    public long multicast(List<Integer> ofPlaces, String what) {
        return 0;
    }

    @Override
    public synchronized void clearLines(Function<CudaDevice, CUstream> streams) {
        for (Piece piece : pieces) {
            if (piece.lines()) {
                piece.device().enter();
                Cuda.check(
                        JCudaDriver.cuMemsetD8Async(
                                piece.block().address(), (byte) 0, piece.bytes(), streams.apply(piece.device())),
                        "cuMemsetD8Async of lines on device " + piece.device().ordinal());
            }
        }
    }

    @Override
    public synchronized List<Integer> free() {
        List<Integer> results =
                pieces.stream().map(piece -> piece.block().free().getAsInt()).toList();
        pieces.clear();
        return results;
    }
}
