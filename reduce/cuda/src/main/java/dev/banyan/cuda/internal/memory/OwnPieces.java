package dev.banyan.cuda.internal.memory;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/** Pieces of memory of this process's devices, which reach each other's memory by the same addresses. */
public final class OwnPieces implements ProgramPieces {
    private record Piece(CudaDevice device, DeviceAddress address, long bytes, boolean lines) {}

    private final Ranks ranks;
    private final Map<CudaDevice, CopyLane> lanes;
    private final List<Piece> pieces = new ArrayList<>();

    /** @param lanes copies to each device */
    public OwnPieces(Ranks ranks, Map<CudaDevice, CopyLane> lanes) {
        this.ranks = ranks;
        this.lanes = lanes;
    }

    @Override
    public synchronized int add(int place, long bytes, boolean lines) {
        CudaDevice device = ranks.at(place);
        DeviceAddress address = device.allocate(bytes, " for device programs");
        pieces.add(new Piece(device, address, bytes, lines));
        CopyLane.of(device, lanes).clear(address, bytes);
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
        return pieces.get(piece).address().value();
    }

    @Override
    public synchronized void clearLines(Function<CudaDevice, CUstream> streams) {
        for (Piece piece : pieces) {
            if (piece.lines()) {
                piece.device().enter();
                Cuda.check(
                        JCudaDriver.cuMemsetD8Async(
                                piece.address(), (byte) 0, piece.bytes(), streams.apply(piece.device())),
                        "cuMemsetD8Async of lines on device " + piece.device().ordinal());
            }
        }
    }

    @Override
    public synchronized List<Integer> free() {
        List<Integer> results = pieces.stream()
                .map(piece -> JCudaDriver.cuMemFree(piece.address()))
                .toList();
        pieces.clear();
        return results;
    }
}
